"""Saving what a reviewer decided about an attempt: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, NotFound
from grader.grading.context import GradingContext
from grader.grading.reviews.claims import release_claim
from grader.grading.reviews.review import (
    ReviewTask,
    build_review_tasks,
    compute_review_points,
    format_review_version,
    review_criterion,
)
from grader.store.database import Session
from grader.store.queries.attempts import get_judged
from grader.store.queries.decisions import ReviewLine, list_reviews, select_latest_reviews


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A reviewer's word on one criterion, made when the review there had this version."""

    criterion: str
    items: tuple[int, ...] | None
    points: Decimal | None
    comment: str
    version: str


def save_reviews(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    attempt_id: str,
    decisions: Sequence[ReviewDecision],
    at: datetime,
) -> list[ReviewLine]:
    """Review an attempt, let go of it, and return what was added.

    What says the same as before is not added again, so that whoever saves once more because the
    answer got lost changes nothing.

    Raises
    ------
    Outdated
        Where somebody else has reviewed a criterion since; then nothing is saved.
    """
    membership.need(Role.ASSISTANT)
    if not decisions:
        fault = ErrorDetail("#/items", "review.empty", "Say which items hold, or give points.")
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
    parts = {
        each.criterion: each for each in load_review_tasks(session, context, membership, attempt_id)
    }
    added = []
    for each in decisions:
        part = parts.get(each.criterion)
        if part is not None and _is_already_saved(membership, part, each):
            continue
        line, _ = review_criterion(
            session,
            context,
            membership,
            attempt_id=attempt_id,
            criterion=each.criterion,
            items=each.items,
            points=each.points,
            comment=each.comment,
            version=each.version,
            at=at,
        )
        added.append(line)
    release_claim(session, membership, attempt_id=attempt_id)
    return added


def load_review_tasks(
    session: Session, context: GradingContext, membership: Membership, attempt_id: str
) -> list[ReviewTask]:
    """All that a person decides in an attempt, whether or not it counts; NotFound elsewhere."""
    attempt, judgement = get_judged(session, attempt_id=attempt_id)
    if attempt.run_id != membership.run.id:
        raise NotFound
    published = context.in_force(session, run_id=membership.run.id, assignment=attempt.assignment)
    known = select_latest_reviews(list_reviews(session, attempt_ids=[attempt.id])).get(
        attempt.id, {}
    )
    return build_review_tasks(published, attempt, judgement, known)


def _is_already_saved(membership: Membership, part: ReviewTask, decision: ReviewDecision) -> bool:
    known = part.review
    if known is None:
        return False
    is_known = decision.version == format_review_version(known) or known.by == membership.caller.id
    return (
        is_known
        and known.items == sorted(set(decision.items or ()))
        and known.points == compute_review_points(part, decision.items, decision.points)
        and known.comment == decision.comment
    )
