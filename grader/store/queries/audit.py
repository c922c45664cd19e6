"""The audit chain: what staff and operators did, each entry bound to the one before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import insert, select

from grader.store.database import Session, lock
from grader.store.lines import as_line
from grader.store.tables import AuditEntry

#: What the first entry is bound to.
BEGINNING = "sha256:" + "0" * 64


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Something that somebody did."""

    number: int
    at: datetime
    by: str
    run_id: str | None
    action: str
    subject: str
    details: Any
    previous: str
    digest: str


_AUDIT = (
    AuditEntry.number,
    AuditEntry.at,
    AuditEntry.by,
    AuditEntry.run_id,
    AuditEntry.action,
    AuditEntry.subject,
    AuditEntry.details,
    AuditEntry.previous,
    AuditEntry.digest,
)


def add_audit(
    session: Session,
    *,
    at: datetime,
    by: str,
    action: str,
    subject: str,
    run_id: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Add an entry in the transaction of what it tells of: neither is there without the other."""
    lock(session, ["audit"])
    last = session.execute(
        select(AuditEntry.number, AuditEntry.digest).order_by(AuditEntry.number.desc()).limit(1)
    ).one_or_none()
    number, previous = (last[0] + 1, last[1]) if last else (1, BEGINNING)
    line = AuditLine(number, at, by, run_id, action, subject, details or {}, previous, "")
    session.execute(insert(AuditEntry).values(**(asdict(line) | {"digest": digest_of(line)})))


def digest_of(line: AuditLine) -> str:
    """The hash that binds an entry to the one before."""
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


def walk_audit(session: Session) -> Iterator[AuditLine]:
    """All entries in order."""
    statement = select(*_AUDIT).order_by(AuditEntry.number)
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield as_line(AuditLine, row)


def list_audit(
    session: Session, *, run_id: str, before: int | None = None, limit: int = 50
) -> list[AuditLine]:
    """What was done in a course run, the newest first."""
    statement = (
        select(*_AUDIT)
        .where(AuditEntry.run_id == run_id)
        .order_by(AuditEntry.number.desc())
        .limit(limit)
    )
    if before is not None:
        statement = statement.where(AuditEntry.number < before)
    return [as_line(AuditLine, row) for row in session.execute(statement)]


def list_audit_about(
    session: Session, *, run_id: str, subjects: Iterable[str], limit: int = 200
) -> list[AuditLine]:
    """What was done about some things in a course run, the oldest first."""
    statement = (
        select(*_AUDIT)
        .where(AuditEntry.run_id == run_id, AuditEntry.subject.in_(sorted(set(subjects))))
        .order_by(AuditEntry.number)
        .limit(limit)
    )
    return [as_line(AuditLine, row) for row in session.execute(statement)]
