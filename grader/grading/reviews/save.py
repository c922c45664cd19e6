"""Saving what a reviewer decided about an attempt: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Place
from grader.domain.roles import Role
from grader.errors import Fault, MalformedRequest, NotFound
from grader.grading.context import Desk
from grader.grading.reviews.claims import release
from grader.grading.reviews.review import Waiting, parts_of, points_for, review, review_version
from grader.store.database import Session
from grader.store.queries.attempts import get_judged
from grader.store.queries.decisions import ReviewLine, list_reviews, newest_reviews


@dataclass(frozen=True, slots=True)
class Decision:
    """A reviewer's word on one criterion, made when the review there had this version."""

    criterion: str
    items: tuple[int, ...] | None
    points: Decimal | None
    comment: str
    version: str


def save_reviews(
    session: Session,
    desk: Desk,
    place: Place,
    *,
    attempt_id: str,
    decisions: Sequence[Decision],
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
    place.need(Role.ASSISTANT)
    if not decisions:
        fault = Fault("#/items", "review.empty", "Say which items hold, or give points.")
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
    parts = {each.criterion: each for each in load_parts(session, desk, place, attempt_id)}
    added = []
    for each in decisions:
        part = parts.get(each.criterion)
        if part is not None and _is_said_already(place, part, each):
            continue
        line, _ = review(
            session,
            desk,
            place,
            attempt_id=attempt_id,
            criterion=each.criterion,
            items=each.items,
            points=each.points,
            comment=each.comment,
            version=each.version,
            at=at,
        )
        added.append(line)
    release(session, place, attempt_id=attempt_id)
    return added


def load_parts(session: Session, desk: Desk, place: Place, attempt_id: str) -> list[Waiting]:
    """All that a person decides in an attempt, whether or not it counts; NotFound elsewhere."""
    attempt, judgement = get_judged(session, attempt_id=attempt_id)
    if attempt.run_id != place.run.id:
        raise NotFound
    published = desk.in_force(session, run_id=place.run.id, assignment=attempt.assignment)
    known = newest_reviews(list_reviews(session, attempt_ids=[attempt.id])).get(attempt.id, {})
    return parts_of(published, attempt, judgement, known)


def _is_said_already(place: Place, part: Waiting, decision: Decision) -> bool:
    known = part.review
    if known is None:
        return False
    is_known = decision.version == review_version(known) or known.by == place.caller.id
    return (
        is_known
        and known.items == sorted(set(decision.items or ()))
        and known.points == points_for(part, decision.items, decision.points)
        and known.comment == decision.comment
    )
