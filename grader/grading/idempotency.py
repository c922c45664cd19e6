"""Requests with an Idempotency-Key: sent twice they are done once, and answered alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.errors import ReusedKey
from grader.store.database import Session, lock
from grader.store.queries.idempotency import (
    AnsweredRequest,
    add_answered,
    find_answered,
    forget_answered,
)

#: So long a key is remembered at least.
KEPT_FOR = timedelta(hours=48)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An Idempotency-Key with who sent it and the digest of what came with it."""

    caller: str
    key: str
    digest: str

    @property
    def name(self) -> tuple[str, str]:
        """What is unique about it."""
        return self.caller, self.key

    @property
    def lock_name(self) -> str:
        """What is locked for it."""
        return f"key {self.caller} {self.key}"


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request is answered: JSON text, and whether it was answered so before."""

    status: int
    body: str
    is_replayed: bool = False


def replay(known: AnsweredRequest, request: RequestKey) -> Answered:
    """The answer of before.

    Raises
    ------
    ReusedKey
        Where another request came with this key.
    """
    if known.request_digest != request.digest:
        raise ReusedKey(
            "This Idempotency-Key came with another request before; a new request needs a new key."
        )
    return Answered(known.status, known.body, is_replayed=True)


def remember(request: RequestKey, answered: Answered, *, at: datetime) -> AnsweredRequest:
    """What is stored of an answered request."""
    return AnsweredRequest(
        request.caller, request.key, request.digest, answered.status, answered.body, at
    )


def once(
    session: Session,
    request: RequestKey | None,
    *,
    at: datetime,
    status: int,
    do: Callable[[], str],
) -> Answered:
    """Do something that gives a JSON text, unless it was done before under this key."""
    if request is None:
        return Answered(status, do())
    lock(session, [request.lock_name])
    known = find_answered(session, keys=[request.name])
    if request.name in known:
        return replay(known[request.name], request)
    answered = Answered(status, do())
    add_answered(session, [remember(request, answered, at=at)])
    return answered


def forget_old(session: Session, *, at: datetime) -> None:
    """Forget keys that are older than promised."""
    forget_answered(session, before=at - KEPT_FOR)
