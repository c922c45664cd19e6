"""What staff decide: reviews of written parts, overrides, and scores from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import func, insert, select

from grader.store.batches import portions
from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.queries.attempts import Part
from grader.store.tables import Attempt, ExternalScore, Override, Review


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """A person's word on one criterion of an attempt."""

    id: str
    run_id: str
    attempt_id: str
    criterion: str
    number: int
    items: Any
    points: Decimal
    comment: str
    by: str
    at: datetime


_REVIEW = (
    Review.id,
    Review.run_id,
    Review.attempt_id,
    Review.criterion,
    Review.number,
    Review.items,
    Review.points,
    Review.comment,
    Review.by,
    Review.at,
)


def list_reviews(session: Session, *, attempt_ids: Iterable[str]) -> list[ReviewLine]:
    """All reviews of these attempts, the oldest first."""
    wanted = sorted(set(attempt_ids))
    lines: list[ReviewLine] = []
    for some in portions(wanted):
        statement = (
            select(*_REVIEW)
            .where(Review.attempt_id.in_(some))
            .order_by(Review.attempt_id, Review.criterion, Review.number)
        )
        lines.extend(as_line(ReviewLine, row) for row in session.execute(statement))
    return lines


def newest_reviews(lines: Iterable[ReviewLine]) -> dict[str, dict[str, ReviewLine]]:
    """The reviews that hold: attempt → criterion → review."""
    found: dict[str, dict[str, ReviewLine]] = {}
    for line in lines:
        found.setdefault(line.attempt_id, {})[line.criterion] = line
    return found


def add_review(session: Session, review: ReviewLine) -> None:
    """Add a review, which holds from now on."""
    session.execute(insert(Review).values(**asdict(review)))


def list_comments(
    session: Session, *, run_id: str, assignment: str, question: str, criterion: str, limit: int
) -> list[str]:
    """What reviewers wrote about a criterion, each text once, the most used first."""
    statement = (
        select(Review.comment)
        .join(Attempt, Attempt.id == Review.attempt_id)
        .where(
            Review.run_id == run_id,
            Review.criterion == criterion,
            Review.comment != "",
            Attempt.assignment == assignment,
            Attempt.question == question,
        )
        .group_by(Review.comment)
        .order_by(func.count().desc(), func.max(Review.at).desc(), Review.comment)
        .limit(limit)
    )
    return list(session.scalars(statement))


@dataclass(frozen=True, slots=True)
class OverrideLine:
    """An instructor's word on a score; without points it takes an earlier one back."""

    id: str
    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    number: int
    points: Decimal | None
    reason: str
    by: str
    at: datetime


_OVERRIDE = (
    Override.id,
    Override.run_id,
    Override.enrolment_id,
    Override.assignment,
    Override.question,
    Override.number,
    Override.points,
    Override.reason,
    Override.by,
    Override.at,
)


def list_overrides(session: Session, *, parts: Iterable[Part]) -> list[OverrideLine]:
    """All overrides of these parts, the oldest first."""
    wanted = set(parts)
    statement = (
        select(*_OVERRIDE)
        .where(Override.enrolment_id.in_({enrolment for enrolment, _, _ in wanted}))
        .order_by(Override.number)
    )
    lines = (as_line(OverrideLine, row) for row in session.execute(statement))
    return [each for each in lines if (each.enrolment_id, each.assignment, each.question) in wanted]


def add_override(session: Session, override: OverrideLine) -> None:
    """Add an override, which holds from now on."""
    session.execute(insert(Override).values(**asdict(override)))


@dataclass(frozen=True, slots=True)
class ExternalScoreLine:
    """A score from outside."""

    id: str
    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    number: int
    points: Decimal
    source: str
    by: str
    at: datetime


_EXTERNAL = (
    ExternalScore.id,
    ExternalScore.run_id,
    ExternalScore.enrolment_id,
    ExternalScore.assignment,
    ExternalScore.question,
    ExternalScore.number,
    ExternalScore.points,
    ExternalScore.source,
    ExternalScore.by,
    ExternalScore.at,
)


def list_external_scores(session: Session, *, parts: Iterable[Part]) -> list[ExternalScoreLine]:
    """All scores from outside for these parts, the oldest first."""
    wanted = set(parts)
    enrolments = sorted({enrolment for enrolment, _, _ in wanted})
    found: list[ExternalScoreLine] = []
    for some in portions(enrolments):
        statement = (
            select(*_EXTERNAL)
            .where(ExternalScore.enrolment_id.in_(some))
            .order_by(ExternalScore.number)
        )
        lines = (as_line(ExternalScoreLine, row) for row in session.execute(statement))
        found.extend(
            each for each in lines if (each.enrolment_id, each.assignment, each.question) in wanted
        )
    return found


def add_external_scores(session: Session, scores: Sequence[ExternalScoreLine]) -> None:
    """Add scores from outside, which hold from now on."""
    if scores:
        session.execute(insert(ExternalScore), [asdict(each) for each in scores])
