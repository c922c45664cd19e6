"""Answers on their way to the writer, which asks for a whole batch who sends them.

The order of refusals is that of `grader.web.auth`: not signed in, too often, nothing there, not in
the scope of the token, not in the caller's role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.accounts.callers import (
    Caller,
    Credential,
    Membership,
    find_memberships,
    has_use_to_record,
    identify,
)
from grader.domain.roles import Scope
from grader.errors import KeysetError, NotFound, TooManyRequests
from grader.grading.context import GradingContext
from grader.grading.idempotency import IdempotencyKey, IdempotentResponse
from grader.grading.submissions.submit import SubmitRequest, refuse_unreadable, submit
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.credentials import record_token_uses
from grader.web.http.rate_limits import RateLimiter, RateLimitState
from grader.web.http.throttle import INVALID_CREDENTIAL_COST


@dataclass(frozen=True, slots=True)
class SentKey:
    """An Idempotency-Key with a digest of its request: method, path and body."""

    key: str
    digest: str

    def of(self, caller: str) -> IdempotencyKey:
        """The key of this caller; others may use the same text."""
        return IdempotencyKey(caller, self.key, self.digest)


@dataclass(frozen=True, slots=True)
class Sender:
    """Somebody who is known to take part, with an id by which idempotency keys are kept apart."""

    enrolment: EnrolmentLine
    caller_id: str


@dataclass(slots=True)
class SentAnswer:
    """An answer as a request brought it.

    `sender` is who sends it, or the credential by which the writer finds that out, with the
    `address` that it comes from. It notes here who it is, and what is left of the caller's budget,
    also where the answer is refused then.
    """

    sender: Sender | Credential
    course: str
    assignment: str
    question: str
    answer: Any
    received_at: datetime
    key: SentKey | None = None
    address: str | None = None
    caller_id: str | None = None
    rate_limit: RateLimitState | None = None


Response = IdempotentResponse | KeysetError


def build_attempt_headers(
    answered: IdempotentResponse, answer: SentAnswer, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The headers of an attempt; `known` are those of a budget that was counted elsewhere."""
    left = (known or {}) if answer.rate_limit is None else answer.rate_limit.headers()
    return {
        **left,
        "Location": f"/api/v1/attempts/{answered.created_id}",
        **build_replay_headers(answered),
    }


def build_replay_headers(answered: IdempotentResponse) -> dict[str, str]:
    """Say of a response that it was given before under the same Idempotency-Key."""
    return {"Idempotent-Replayed": "true"} if answered.is_replayed else {}


def submit_sent(
    session: Session,
    context: GradingContext,
    budgets: RateLimiter,
    sent: Sequence[SentAnswer],
    *,
    at: datetime,
) -> list[Response]:
    """Judge answers and store them as attempts, as far as their senders may; the caller commits."""
    senders = _find_senders(session, budgets, sent, at=at)
    requests = [
        _make_request(each, sender)
        for each, sender in zip(sent, senders, strict=True)
        if isinstance(sender, Sender)
    ]
    responses = iter(submit(session, context, requests, at=at))
    return [each if isinstance(each, KeysetError) else next(responses) for each in senders]


def refuse_unreadable_answer(session: Session, context: GradingContext, sent: SentAnswer) -> None:
    """Refuse an answer that cannot be read; what else may be wrong with it is left to `submit`."""
    assert isinstance(sent.sender, Sender), "who sends a large answer was asked before"
    refuse_unreadable(session, context, _make_request(sent, sent.sender))


#: Behind a proxy all have its address, and only the app knows which one they come from. So those
#: whom the writer does not know are counted apart.
_BY_TOKEN = "token from "


def may_send_tokens(budgets: RateLimiter, address: str) -> bool:
    """Whether the writer may be asked who sends a token.

    Not where too many came from there that nobody knows: they are left to the app, which asks
    before they take a place in the writer's queue.
    """
    return budgets.can_spend("anonymous", _BY_TOKEN + address, cost=INVALID_CREDENTIAL_COST)


def _make_request(sent: SentAnswer, sender: Sender) -> SubmitRequest:
    return SubmitRequest(
        sender.enrolment,
        sent.assignment,
        sent.question,
        sent.answer,
        sent.received_at,
        sent.key.of(sender.caller_id) if sent.key else None,
    )


def _find_senders(
    session: Session, budgets: RateLimiter, sent: Sequence[SentAnswer], *, at: datetime
) -> list[Sender | KeysetError]:
    """Whose answers they are, or why they are refused."""
    asked = [
        (each.sender, each.received_at) for each in sent if isinstance(each.sender, Credential)
    ]
    callers = identify(session, asked) if asked else []
    used = [
        caller.token_id
        for caller, (_, received_at) in zip(callers, asked, strict=True)
        if isinstance(caller, Caller) and has_use_to_record(caller, at=received_at)
    ]
    record_token_uses(session, token_ids=[each for each in used if each], at=at)
    known = iter(callers)
    found: list[Sender | Caller | KeysetError] = [
        each.sender if isinstance(each.sender, Sender) else _admit(each, next(known), budgets)
        for each in sent
    ]
    wanted = [
        (caller, each.course)
        for caller, each in zip(found, sent, strict=True)
        if isinstance(caller, Caller)
    ]
    memberships = iter(find_memberships(session, wanted) if wanted else ())
    return [_get_sender(next(memberships)) if isinstance(each, Caller) else each for each in found]


def _admit(
    sent: SentAnswer, caller: Caller | KeysetError, budgets: RateLimiter
) -> Caller | KeysetError:
    """The caller, unless there were too many calls."""
    if isinstance(caller, KeysetError):
        if sent.address is not None:
            # The response is the same; the next ones do not come to the writer.
            with suppress(TooManyRequests):
                budgets.spend("anonymous", _BY_TOKEN + sent.address, cost=INVALID_CREDENTIAL_COST)
        return caller
    sent.caller_id = caller.id
    try:
        # A batch that failed is repeated piece by piece, but each call is counted once.
        sent.rate_limit = sent.rate_limit or budgets.spend("submit", caller.id)
    except KeysetError as error:
        return error
    return caller


def _get_sender(membership: Membership | None) -> Sender | KeysetError:
    if membership is None:
        return NotFound()
    try:
        membership.caller.need(Scope.SUBMIT)
        return Sender(membership.need_enrolment(), membership.caller.id)
    except KeysetError as error:
        return error
