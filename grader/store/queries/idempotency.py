"""Responses to requests, by their Idempotency-Key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, delete, insert, select

from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.rows import get_table, list_columns, to_line
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


def find_answered_requests(
    session: Session, *, keys: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], AnsweredRequest]:
    """Answered requests by caller and key."""
    statement = _select_answered(get_dialect(session))
    rows = list_by_keys(session, statement, keys)
    lines = (to_line(AnsweredRequest, row) for row in rows)
    return {(each.caller, each.key): each for each in lines}


@cache
def _select_answered(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "caller", "key")
    return select(*list_columns(IdempotencyKeyRow, AnsweredRequest)).join(
        keys, match_keys(keys, IdempotencyKeyRow)
    )


_NAMES = tuple(each.name for each in fields(AnsweredRequest))
_INSERT = insert(get_table(IdempotencyKeyRow))


def add_answered_requests(session: Session, requests: Sequence[AnsweredRequest]) -> None:
    """Store responses."""
    if requests:
        rows = [{name: getattr(each, name) for name in _NAMES} for each in requests]
        session.connection().execute(_INSERT, rows)


def delete_answered_requests(session: Session, *, before: datetime) -> None:
    """Delete responses to requests that came before a time."""
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.made_at < before))
