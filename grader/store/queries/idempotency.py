"""Requests that were answered, by their Idempotency-Key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select

from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.tables import IdempotencyKey


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """What a request with this key was answered."""

    caller: str
    key: str
    request_digest: str
    status: int
    body: str
    made_at: datetime


_ANSWERED = (
    IdempotencyKey.caller,
    IdempotencyKey.key,
    IdempotencyKey.request_digest,
    IdempotencyKey.status,
    IdempotencyKey.body,
    IdempotencyKey.made_at,
)


def find_answered(
    session: Session, *, keys: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], AnsweredRequest]:
    """Answered requests by caller and key."""
    wanted = set(keys)
    if not wanted:
        return {}
    statement = select(*_ANSWERED).where(
        IdempotencyKey.caller.in_({caller for caller, _ in wanted}),
        IdempotencyKey.key.in_({key for _, key in wanted}),
    )
    lines = (as_line(AnsweredRequest, row) for row in session.execute(statement))
    return {(each.caller, each.key): each for each in lines}


def add_answered(session: Session, requests: Sequence[AnsweredRequest]) -> None:
    """Keep what requests were answered."""
    if requests:
        session.execute(insert(IdempotencyKey), [asdict(each) for each in requests])


def forget_answered(session: Session, *, before: datetime) -> None:
    """Forget requests that were answered before a moment."""
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.made_at < before))
