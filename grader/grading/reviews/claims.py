"""Claims: two people never review the same attempt without knowing it.

A claim is a courtesy, not a lock: the attempt is offered to its holder alone for some minutes. If
two people save all the same, the version of the review decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.grading.reviews.queue import QueueEntry
from grader.grading.reviews.review import get_attempt_in_run
from grader.store.database import Session, lock
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

#: How long a claim lasts unless its holder renews it.
LEASE = timedelta(minutes=5)


def claim_attempt(
    session: Session, membership: Membership, *, attempt_id: str, at: datetime
) -> ClaimLine:
    """Claim an attempt or renew the claim; the result is another's claim if they hold it.

    Raises
    ------
    NotFound
        If the course run has no such attempt.
    """
    membership.need(Role.ASSISTANT)
    attempt, _ = get_attempt_in_run(session, membership, attempt_id)
    membership.refuse_own_work(attempt.enrolment_id)
    claim = _make_claim(membership, attempt_id, at)
    if take_claim(session, claim, at=at):
        return claim
    # The holder may release it at this very moment; then the next renewal takes it.
    return find_claim(session, attempt_id=attempt_id, at=at) or claim


def claim_next(
    session: Session, membership: Membership, waiting: Sequence[QueueEntry], *, at: datetime
) -> str | None:
    """Claim the first of these attempts that nobody else holds or has reviewed meanwhile.

    Returns its id, or None if no attempt is left.
    """
    membership.need(Role.ASSISTANT)
    if not waiting:
        return None
    first = waiting[0].attempt
    # Two reviewers bring the same attempts in different orders and must not block each other.
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
    """Whether everything was reviewed since the entry was loaded."""
    reviews = select_latest_reviews(list_reviews(session, attempt_ids=[entry.attempt.id]))
    reviewed = reviews.get(entry.attempt.id, {})
    return all(each.criterion in reviewed for each in entry.tasks)


def _make_claim(membership: Membership, attempt_id: str, at: datetime) -> ClaimLine:
    return ClaimLine(attempt_id, membership.run.id, membership.caller.id, at + LEASE)


def release_claim(session: Session, membership: Membership, *, attempt_id: str) -> None:
    """Release the caller's claim on an attempt; another's claim stays."""
    membership.need(Role.ASSISTANT)
    delete_claim(session, attempt_id=attempt_id, by=membership.caller.id)
