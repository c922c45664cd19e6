"""The audit chain, in which each entry includes the hash of the previous one; signing keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import exists, insert, select
from sqlalchemy.exc import DBAPIError, OperationalError

from grader.errors import Unavailable
from grader.store.database import Session, lock
from grader.store.queries.facts import (
    ChangedRows,
    RecordedTable,
    hash_facts,
    write_all_facts,
    write_changed_facts,
)
from grader.store.rows import list_columns, to_line, tolerate_bad_text
from grader.store.sealing import SealedSecret, get_sealing_keys, name_place
from grader.store.tables.audit_keys import AuditEntryRow, SigningKeyRow

#: The previous digest of the first entry.
GENESIS_DIGEST = "sha256:" + "0" * 64
#: What an entry's details call the digest of its facts.
FACTS_DIGEST = "facts"
#: The action of entries that only hold facts: of rows of before, or those that the entry before has
#: no room for.
STATE_RECORDED = "state.recorded"
#: Who records the rows of before.
MIGRATION = "migration"


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry of the audit chain."""

    number: int
    at: datetime
    by: str
    run_id: str | None
    action: str
    subject: str
    details: Any
    previous: str
    digest: str


_AUDIT = list_columns(AuditEntryRow, AuditLine)


def add_audit_entry(
    session: Session,
    *,
    at: datetime,
    by: str,
    action: str,
    subject: str,
    run_id: str | None = None,
    details: dict[str, Any] | None = None,
    changed: ChangedRows | None = None,
) -> None:
    """Add an entry, in the same transaction as the change that it records and after it.

    It holds the facts of the changed rows; where there are many, more entries follow with the rest.

    Raises
    ------
    Unavailable
        If the entry cannot be written; then the change must not happen either.
    """
    lock(session, ["audit"])
    line = AuditLine(0, at, by, run_id, action, subject, details or {}, "", "")
    pages = write_changed_facts(session, changed or {})
    _append_entry(session, line, facts=next(pages, None))
    for facts in pages:
        _append_entry(session, replace(line, action=STATE_RECORDED, details={}), facts=facts)


def _append_entry(session: Session, line: AuditLine, *, facts: str | None) -> None:
    """Append an entry to the chain, with its number, its digests and its facts."""
    last = session.execute(
        select(AuditEntryRow.number, AuditEntryRow.digest)
        .order_by(AuditEntryRow.number.desc())
        .limit(1)
    ).one_or_none()
    number, previous = (last[0] + 1, last[1]) if last else (1, GENESIS_DIGEST)
    covers = {FACTS_DIGEST: hash_facts(facts)} if facts is not None else {}
    line = replace(line, number=number, previous=previous, details=line.details | covers)
    values = asdict(line) | {"digest": hash_entry(line), "facts": facts}
    try:
        session.execute(insert(AuditEntryRow).values(**values))
    except OperationalError:
        # The database itself tells what is wrong: that its disk is full, for example.
        raise
    except DBAPIError as error:
        # Nobody else adds entries now, so that to try again would not help.
        raise Unavailable(
            "The audit chain cannot be written; nothing was changed. The operator must look at it."
        ) from error


def record_existing_rows(session: Session, *, at: datetime) -> None:
    """Record the rows of a store whose chain has no facts yet, because it is older than them.

    From then on `grader verify` notices any change of them. A new store has no rows, and gets no
    entry.
    """
    lock(session, ["audit"])
    if session.scalar(select(exists().where(AuditEntryRow.facts.is_not(None)))):
        return
    line = AuditLine(0, at, MIGRATION, None, STATE_RECORDED, "store", {}, "", "")
    with tolerate_bad_text(session):
        for facts in write_all_facts(session):
            _append_entry(session, line, facts=facts)


def hash_entry(line: AuditLine) -> str:
    """The hash of an entry, which includes the previous entry's."""
    content = [
        line.number,
        line.at.astimezone(UTC).isoformat(timespec="microseconds"),
        line.by,
        line.run_id,
        line.action,
        line.subject,
        line.details,
        line.previous,
    ]
    canonical = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def list_audit(
    session: Session, *, run_id: str, before: int | None = None, limit: int = 50
) -> list[AuditLine]:
    """Entries of a course run, newest first; those with a number below `before`, if given."""
    statement = (
        select(*_AUDIT)
        .where(AuditEntryRow.run_id == run_id)
        .order_by(AuditEntryRow.number.desc())
        .limit(limit)
    )
    if before is not None:
        statement = statement.where(AuditEntryRow.number < before)
    return [to_line(AuditLine, row) for row in session.execute(statement)]


def list_audit_about(
    session: Session, *, run_id: str, subjects: Iterable[str], limit: int = 200
) -> list[AuditLine]:
    """Entries of a course run about some subjects, oldest first."""
    statement = (
        select(*_AUDIT)
        .where(AuditEntryRow.run_id == run_id, AuditEntryRow.subject.in_(sorted(set(subjects))))
        .order_by(AuditEntryRow.number)
        .limit(limit)
    )
    return [to_line(AuditLine, row) for row in session.execute(statement)]


_SIGNING_KEYS = select(SigningKeyRow.id, SigningKeyRow.private).order_by(
    SigningKeyRow.made_at.desc()
)


def find_signing_key(session: Session) -> bytes | None:
    """The newest private key."""
    row = session.execute(_SIGNING_KEYS.limit(1)).one_or_none()
    return None if row is None else _open_private(session, row[0], row[1])


def list_signing_keys(session: Session, *, skip_sealed: bool = False) -> dict[str, bytes]:
    """All private keys by id, newest first.

    With `skip_sealed` those are left out that are sealed and cannot be opened.
    """
    found: dict[str, bytes] = {}
    for key_id, stored in session.execute(_SIGNING_KEYS):
        with suppress(SealedSecret) if skip_sealed else nullcontext():
            found[key_id] = _open_private(session, key_id, stored)
    return found


def _open_private(session: Session, key_id: str, stored: bytes) -> bytes:
    place = name_place("signing_keys", key_id, "private")
    return get_sealing_keys(session).open(stored, place=place)


def add_signing_key(
    session: Session, *, key_id: str, private: bytes, at: datetime, by: str = "service"
) -> None:
    """Add a private key, which is sealed if there is a key for that; the newest one signs."""
    place = name_place("signing_keys", key_id, "private")
    sealed = get_sealing_keys(session).seal(private, place=place)
    session.execute(insert(SigningKeyRow).values(id=key_id, private=sealed, made_at=at))
    add_audit_entry(
        session, at=at, by=by, action="key.made", subject=key_id,
        changed={RecordedTable.SIGNING_KEYS: [key_id]},
    )  # fmt: skip
