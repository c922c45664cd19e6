"""Responses to requests, by their Idempotency-Key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select

from grader.store.database import Session
from grader.store.rows import to_line
from grader.store.tables.credentials import IdempotencyKeyRow


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """The response that a request with this key got."""

    caller: str
    key: str
    request_digest: str
    status: int
    body: str
    made_at: datetime


_ANSWERED = (
    IdempotencyKeyRow.caller,
    IdempotencyKeyRow.key,
    IdempotencyKeyRow.request_digest,
    IdempotencyKeyRow.status,
    IdempotencyKeyRow.body,
    IdempotencyKeyRow.made_at,
)


def find_answered_requests(
    session: Session, *, keys: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], AnsweredRequest]:
    """Answered requests by caller and key."""
    wanted = set(keys)
    if not wanted:
        return {}
    statement = select(*_ANSWERED).where(
        IdempotencyKeyRow.caller.in_({caller for caller, _ in wanted}),
        IdempotencyKeyRow.key.in_({key for _, key in wanted}),
    )
    lines = (to_line(AnsweredRequest, row) for row in session.execute(statement))
    return {(each.caller, each.key): each for each in lines}


def add_answered_requests(session: Session, requests: Sequence[AnsweredRequest]) -> None:
    """Store responses."""
    if requests:
        session.execute(insert(IdempotencyKeyRow), [asdict(each) for each in requests])


def delete_answered_requests(session: Session, *, before: datetime) -> None:
    """Delete responses to requests that came before a time."""
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.made_at < before))
