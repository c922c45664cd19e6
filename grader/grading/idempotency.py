"""Requests with an Idempotency-Key: a repeated request is done once and gets one response.

Nothing is forgotten before its time. What a caller can make others store is bounded all the same:
equal responses are stored once, and over `MAX_KEYS` a new key is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.errors import ReusedIdempotencyKey, TooManyRequests
from grader.store.database import Session, lock
from grader.store.queries.idempotency import (
    AnsweredRequest,
    add_answered_requests,
    count_keys,
    delete_answered_requests,
    find_answered_requests,
)

#: Minimum time that a key is remembered.
KEY_LIFETIME = timedelta(hours=48)
#: Maximum keys of a caller that are remembered at once.
MAX_KEYS = 10_000
# A body may be noted a little before the last key that got it.
_BODY_MARGIN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key with its caller and the digest of its request."""

    caller: str
    key: str
    digest: str

    @property
    def name(self) -> tuple[str, str]:
        """What identifies it."""
        return self.caller, self.key

    @property
    def lock_name(self) -> str:
        """The name of its lock."""
        return f"key {self.caller} {self.key}"


@dataclass(frozen=True, slots=True)
class IdempotentResponse:
    """The response to a request, as JSON text; `created_id` is what it created, if known."""

    status: int
    body: str
    is_replayed: bool = False
    created_id: str | None = None


def replay_response(
    known: AnsweredRequest, request: IdempotencyKey, created_id: str | None = None
) -> IdempotentResponse:
    """The earlier response.

    Raises
    ------
    ReusedIdempotencyKey
        If another request came with this key.
    """
    if known.request_digest != request.digest:
        raise ReusedIdempotencyKey(
            "This Idempotency-Key came with another request before; a new request needs a new key."
        )
    return IdempotentResponse(known.status, known.body, is_replayed=True, created_id=created_id)


def make_idempotency_record(
    request: IdempotencyKey, answered: IdempotentResponse, *, at: datetime
) -> AnsweredRequest:
    """The record of an answered request, for the store."""
    return AnsweredRequest(
        request.caller, request.key, request.digest, answered.status, answered.body, at
    )


def run_once(
    session: Session,
    request: IdempotencyKey | None,
    *,
    at: datetime,
    status: int,
    do: Callable[[], str],
) -> IdempotentResponse:
    """Do something that gives a JSON text, unless it was done before under this key."""
    if request is None:
        return IdempotentResponse(status, do())
    lock(session, [request.lock_name])
    known = find_answered_requests(session, keys=[request.name])
    if request.name in known:
        return replay_response(known[request.name], request)
    refusals = refuse_new_keys(session, [request.caller], at=at)
    if request.caller in refusals:
        raise refusals[request.caller]
    answered = IdempotentResponse(status, do())
    add_answered_requests(session, [make_idempotency_record(request, answered, at=at)])
    return answered


def refuse_new_keys(
    session: Session, callers: Iterable[str], *, at: datetime
) -> dict[str, TooManyRequests]:
    """The callers whose limit of remembered keys is reached, each with the error."""
    return {
        caller: _make_too_many_keys_error(counted.oldest_at, at=at)
        for caller, counted in count_keys(session, callers=callers).items()
        if counted.keys >= MAX_KEYS
    }


def _make_too_many_keys_error(oldest_at: datetime, *, at: datetime) -> TooManyRequests:
    return TooManyRequests(
        f"{MAX_KEYS:,} Idempotency-Keys of yours are remembered, and no more are allowed. "
        "Send this without a key, or later.",
        retry_after_seconds=max(1, math.ceil((oldest_at + KEY_LIFETIME - at).total_seconds())),
    )


def delete_expired_keys(session: Session, *, at: datetime) -> None:
    """Delete keys that are older than promised, and the responses that no other key got."""
    before = at - KEY_LIFETIME
    delete_answered_requests(session, before=before, bodies_before=before - _BODY_MARGIN)
