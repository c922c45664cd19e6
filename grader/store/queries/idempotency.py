"""Responses to requests, by their Idempotency-Key.

The body of a response is stored by its digest, once for all keys that got it: an answer that is
sent again under a new key gets the same report, which has some 20 kB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, func, insert, select

from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.rows import get_table, to_line
from grader.store.tables.credentials import IdempotencyKeyRow, IdempotentResponseRow
from grader.store.upserts import make_insert


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
    columns: tuple[Any, ...] = (
        IdempotencyKeyRow.caller,
        IdempotencyKeyRow.key,
        IdempotencyKeyRow.request_digest,
        IdempotencyKeyRow.status,
        IdempotentResponseRow.body,
        IdempotencyKeyRow.made_at,
    )
    return (
        select(*columns)
        .join(keys, match_keys(keys, IdempotencyKeyRow))
        .join(IdempotentResponseRow, IdempotentResponseRow.digest == IdempotencyKeyRow.body_digest)
    )


class KeyCount(NamedTuple):
    """How many keys of a caller are remembered, and since when."""

    keys: int
    oldest_at: datetime


def count_keys(session: Session, *, callers: Iterable[str]) -> dict[str, KeyCount]:
    """The remembered keys of callers; callers without any are left out."""
    statement = _count_keys(get_dialect(session))
    rows = list_by_keys(session, statement, ((each,) for each in callers))
    return {caller: KeyCount(keys, oldest_at) for caller, keys, oldest_at in rows}


@cache
def _count_keys(dialect: str) -> Select[Any]:
    callers = make_key_table(dialect, "caller")
    caller: Any = IdempotencyKeyRow.caller
    return (
        select(caller, func.count(), func.min(IdempotencyKeyRow.made_at))
        .join(callers, match_keys(callers, IdempotencyKeyRow))
        .group_by(caller)
    )


_INSERT = insert(get_table(IdempotencyKeyRow))


@cache
def _add_bodies(dialect: str) -> Any:
    statement = make_insert(dialect, get_table(IdempotentResponseRow))
    # A body that is there stays as it is, which is cheaper than to write it again.
    return statement.on_conflict_do_update(
        index_elements=["digest"], set_={"made_at": statement.excluded.made_at}
    )


def add_answered_requests(session: Session, requests: Sequence[AnsweredRequest]) -> None:
    """Store responses."""
    if not requests:
        return
    connection = session.connection()
    digests = [hash_body(each.body) for each in requests]
    bodies = {
        digest: {"digest": digest, "body": each.body, "made_at": each.made_at}
        for digest, each in zip(digests, requests, strict=True)
    }
    # In one order, so that two transactions with the same bodies never wait for each other.
    connection.execute(
        _add_bodies(connection.dialect.name), [bodies[each] for each in sorted(bodies)]
    )
    rows = [
        {
            "caller": each.caller,
            "key": each.key,
            "request_digest": each.request_digest,
            "status": each.status,
            "made_at": each.made_at,
            "body_digest": digest,
        }
        for digest, each in zip(digests, requests, strict=True)
    ]
    connection.execute(_INSERT, rows)


def hash_body(body: str) -> str:
    """The digest by which a body is stored."""
    return hashlib.sha256(body.encode()).hexdigest()


def delete_answered_requests(
    session: Session, *, before: datetime, bodies_before: datetime
) -> None:
    """Delete keys of requests that came before a time, and bodies that no key got since another.

    Bodies must be kept for longer: two transactions may note their times in another order than they
    are committed.
    """
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.made_at < before))
    session.execute(
        delete(IdempotentResponseRow).where(IdempotentResponseRow.made_at < bodies_before)
    )
