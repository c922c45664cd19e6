"""Claims: two people never review the same attempt without knowing it.

A claim is a courtesy and no lock. Whoever holds it is offered the attempt alone for some minutes;
what decides between two who save all the same is the version of the review.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import NotFound
from grader.grading.grades.overrides import refuse_own_work
from grader.grading.reviews.queue import QueueEntry
from grader.store.database import Session, lock
from grader.store.queries.attempts import get_judged
from grader.store.queries.decisions import (
    ClaimLine,
    delete_claim,
    delete_expired_claims,
    find_claim,
    list_claims,
    list_reviews,
    select_latest_reviews,
    take_claim,
)

#: So long an attempt stays with somebody of whom nothing is heard.
LEASE = timedelta(minutes=5)


def claim_attempt(
    session: Session, membership: Membership, *, attempt_id: str, at: datetime
) -> ClaimLine:
    """Hold an attempt for some minutes more, or learn who holds it.

    Raises
    ------
    NotFound
        Where the course run has no such attempt.
    """
    membership.need(Role.ASSISTANT)
    attempt, _ = get_judged(session, attempt_id=attempt_id)
    if attempt.run_id != membership.run.id:
        raise NotFound
    refuse_own_work(membership, attempt.enrolment_id)
    wanted = _make_claim(membership, attempt_id, at)
    if take_claim(session, wanted, at=at):
        return wanted
    # Whoever holds it may let go at this very moment; then the next sign of life takes it.
    return find_claim(session, attempt_id=attempt_id, at=at) or wanted


def claim_next(
    session: Session, membership: Membership, waiting: Sequence[QueueEntry], *, at: datetime
) -> str | None:
    """Hold the first of these attempts that nobody else holds or has reviewed meanwhile.

    Returns its id, or None where there is none.
    """
    membership.need(Role.ASSISTANT)
    if not waiting:
        return None
    first = waiting[0].attempt
    # They come with the same attempts in different orders and must not wait for each other.
    lock(session, [f"claims {membership.run.id} {first.assignment} {first.question}"])
    delete_expired_claims(session, run_id=membership.run.id, at=at)
    held = {
        each.attempt_id
        for each in list_claims(session, run_id=membership.run.id, at=at)
        if each.by != membership.caller.id
    }
    for entry in waiting:
        attempt_id = entry.attempt.id
        if attempt_id in held or _is_done(session, entry):
            continue
        if take_claim(session, _make_claim(membership, attempt_id, at), at=at):
            return attempt_id
    return None


def _is_done(session: Session, entry: QueueEntry) -> bool:
    """Whether everything was reviewed since the entry was looked up."""
    known = select_latest_reviews(list_reviews(session, attempt_ids=[entry.attempt.id]))
    reviewed = known.get(entry.attempt.id, {})
    return all(each.criterion in reviewed for each in entry.parts)


def _make_claim(membership: Membership, attempt_id: str, at: datetime) -> ClaimLine:
    return ClaimLine(attempt_id, membership.run.id, membership.caller.id, at + LEASE)


def release_claim(session: Session, membership: Membership, *, attempt_id: str) -> None:
    """Let go of an attempt; what somebody else holds stays held."""
    membership.need(Role.ASSISTANT)
    delete_claim(session, attempt_id=attempt_id, by=membership.caller.id)
