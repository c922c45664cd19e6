"""Saving a reviewer's decisions about an attempt: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import MalformedRequest
from grader.grading.context import GradingContext
from grader.grading.reviews.claims import release_claim
from grader.grading.reviews.review import (
    NOTHING_DECIDED,
    ReviewTask,
    compute_review_points,
    format_review_version,
    load_review_tasks,
    review_criterion,
)
from grader.store.database import Session
from grader.store.queries.decisions import ReviewLine


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A reviewer's decision on one criterion, made when its review had this version."""

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
    """Review an attempt, release the claim on it, and return the reviews that were added.

    A decision that is already stored is not added again: saving twice, because the response got
    lost, changes nothing.

    Raises
    ------
    OutdatedVersion
        If somebody else has reviewed a criterion since; then nothing is saved.
    """
    membership.need(Role.ASSISTANT)
    if not decisions:
        raise MalformedRequest.of(NOTHING_DECIDED)
    tasks = {
        each.criterion: each for each in load_review_tasks(session, context, membership, attempt_id)
    }
    added = []
    for each in decisions:
        task = tasks.get(each.criterion)
        if task is not None and _is_already_saved(membership, task, each):
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


def _is_already_saved(membership: Membership, task: ReviewTask, decision: ReviewDecision) -> bool:
    stored = task.review
    if stored is None:
        return False
    is_known = (
        decision.version == format_review_version(stored) or stored.by == membership.caller.id
    )
    return (
        is_known
        and stored.items == sorted(set(decision.items or ()))
        and stored.points == compute_review_points(task, decision.items, decision.points)
        and stored.comment == decision.comment
    )
