"""The audit chain, in which each entry includes the hash of the previous one; signing keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError, OperationalError

from grader.errors import Unavailable
from grader.store.database import Session, lock
from grader.store.rows import list_columns, to_line
from grader.store.tables.audit_keys import AuditEntryRow, SigningKeyRow

#: The previous digest of the first entry.
GENESIS_DIGEST = "sha256:" + "0" * 64


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
) -> None:
    """Add an entry, in the same transaction as the change that it records.

    Raises
    ------
    Unavailable
        If the entry cannot be written; then the change must not happen either.
    """
    lock(session, ["audit"])
    last = session.execute(
        select(AuditEntryRow.number, AuditEntryRow.digest)
        .order_by(AuditEntryRow.number.desc())
        .limit(1)
    ).one_or_none()
    number, previous = (last[0] + 1, last[1]) if last else (1, GENESIS_DIGEST)
    line = AuditLine(number, at, by, run_id, action, subject, details or {}, previous, "")
    values = asdict(line) | {"digest": hash_entry(line)}
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


def find_signing_key(session: Session) -> bytes | None:
    """The newest private key."""
    return session.scalar(
        select(SigningKeyRow.private).order_by(SigningKeyRow.made_at.desc()).limit(1)
    )


def list_signing_keys(session: Session) -> dict[str, bytes]:
    """All private keys by id, newest first."""
    statement = select(SigningKeyRow.id, SigningKeyRow.private).order_by(
        SigningKeyRow.made_at.desc()
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def add_signing_key(session: Session, *, key_id: str, private: bytes, at: datetime) -> None:
    """Add a private key; the newest one signs."""
    session.execute(insert(SigningKeyRow).values(id=key_id, private=private, made_at=at))
