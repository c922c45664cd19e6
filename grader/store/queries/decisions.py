"""What staff decide: reviews of written parts, overrides, and scores from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import delete, func, insert, or_, select

from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import split_into_batches, to_line
from grader.store.tables import AttemptRow, ClaimRow, ExternalScoreRow, OverrideRow, ReviewRow
from grader.store.upserts import insert_or_replace_where


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
    ReviewRow.id,
    ReviewRow.run_id,
    ReviewRow.attempt_id,
    ReviewRow.criterion,
    ReviewRow.number,
    ReviewRow.items,
    ReviewRow.points,
    ReviewRow.comment,
    ReviewRow.by,
    ReviewRow.at,
)


def list_reviews(session: Session, *, attempt_ids: Iterable[str]) -> list[ReviewLine]:
    """All reviews of these attempts, the oldest first."""
    wanted = sorted(set(attempt_ids))
    lines: list[ReviewLine] = []
    for some in split_into_batches(wanted):
        statement = (
            select(*_REVIEW)
            .where(ReviewRow.attempt_id.in_(some))
            .order_by(ReviewRow.attempt_id, ReviewRow.criterion, ReviewRow.number)
        )
        lines.extend(to_line(ReviewLine, row) for row in session.execute(statement))
    return lines


def select_latest_reviews(lines: Iterable[ReviewLine]) -> dict[str, dict[str, ReviewLine]]:
    """The reviews that hold: attempt → criterion → review."""
    found: dict[str, dict[str, ReviewLine]] = {}
    for line in lines:
        found.setdefault(line.attempt_id, {})[line.criterion] = line
    return found


def add_review(session: Session, review: ReviewLine) -> None:
    """Add a review, which holds from now on."""
    session.execute(insert(ReviewRow).values(**asdict(review)))


def list_comments(
    session: Session, *, run_id: str, assignment: str, question: str, criterion: str, limit: int
) -> list[str]:
    """What reviewers wrote about a criterion, each text once, the most used first."""
    statement = (
        select(ReviewRow.comment)
        .join(AttemptRow, AttemptRow.id == ReviewRow.attempt_id)
        .where(
            ReviewRow.run_id == run_id,
            ReviewRow.criterion == criterion,
            ReviewRow.comment != "",
            AttemptRow.assignment == assignment,
            AttemptRow.question == question,
        )
        .group_by(ReviewRow.comment)
        .order_by(func.count().desc(), func.max(ReviewRow.at).desc(), ReviewRow.comment)
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
    OverrideRow.id,
    OverrideRow.run_id,
    OverrideRow.enrolment_id,
    OverrideRow.assignment,
    OverrideRow.question,
    OverrideRow.number,
    OverrideRow.points,
    OverrideRow.reason,
    OverrideRow.by,
    OverrideRow.at,
)


def list_overrides(session: Session, *, parts: Iterable[StudentQuestion]) -> list[OverrideLine]:
    """All overrides of these parts, the oldest first."""
    wanted = set(parts)
    statement = (
        select(*_OVERRIDE)
        .where(OverrideRow.enrolment_id.in_({enrolment for enrolment, _, _ in wanted}))
        .order_by(OverrideRow.number)
    )
    lines = (to_line(OverrideLine, row) for row in session.execute(statement))
    return [each for each in lines if (each.enrolment_id, each.assignment, each.question) in wanted]


def add_override(session: Session, override: OverrideLine) -> None:
    """Add an override, which holds from now on."""
    session.execute(insert(OverrideRow).values(**asdict(override)))


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
    ExternalScoreRow.id,
    ExternalScoreRow.run_id,
    ExternalScoreRow.enrolment_id,
    ExternalScoreRow.assignment,
    ExternalScoreRow.question,
    ExternalScoreRow.number,
    ExternalScoreRow.points,
    ExternalScoreRow.source,
    ExternalScoreRow.by,
    ExternalScoreRow.at,
)


def list_external_scores(
    session: Session, *, parts: Iterable[StudentQuestion]
) -> list[ExternalScoreLine]:
    """All scores from outside for these parts, the oldest first."""
    wanted = set(parts)
    enrolments = sorted({enrolment for enrolment, _, _ in wanted})
    found: list[ExternalScoreLine] = []
    for some in split_into_batches(enrolments):
        statement = (
            select(*_EXTERNAL)
            .where(ExternalScoreRow.enrolment_id.in_(some))
            .order_by(ExternalScoreRow.number)
        )
        lines = (to_line(ExternalScoreLine, row) for row in session.execute(statement))
        found.extend(
            each for each in lines if (each.enrolment_id, each.assignment, each.question) in wanted
        )
    return found


def add_external_scores(session: Session, scores: Sequence[ExternalScoreLine]) -> None:
    """Add scores from outside, which hold from now on."""
    if scores:
        session.execute(insert(ExternalScoreRow), [asdict(each) for each in scores])


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """Who holds an attempt, and until when."""

    attempt_id: str
    run_id: str
    by: str
    until: datetime


_CLAIM = (ClaimRow.attempt_id, ClaimRow.run_id, ClaimRow.by, ClaimRow.until)


def take_claim(session: Session, claim: ClaimLine, *, at: datetime) -> bool:
    """Hold an attempt that is free, has been left, or is held already by the same person.

    It is one statement, so that the database itself decides between two who come at once.
    """
    row = {
        "attempt_id": claim.attempt_id,
        "run_id": claim.run_id,
        "by": claim.by,
        "until": claim.until,
    }
    is_free = or_(ClaimRow.by == claim.by, ClaimRow.until <= at)
    return insert_or_replace_where(session, ClaimRow, row, key="attempt_id", where=is_free)


def find_claim(session: Session, *, attempt_id: str, at: datetime) -> ClaimLine | None:
    """Who holds an attempt at this moment."""
    statement = select(*_CLAIM).where(ClaimRow.attempt_id == attempt_id, ClaimRow.until > at)
    row = session.execute(statement).one_or_none()
    return to_line(ClaimLine, row) if row else None


def list_claims(session: Session, *, run_id: str, at: datetime) -> list[ClaimLine]:
    """All that is held in a course run at this moment."""
    statement = (
        select(*_CLAIM)
        .where(ClaimRow.run_id == run_id, ClaimRow.until > at)
        .order_by(ClaimRow.until.desc(), ClaimRow.attempt_id)
    )
    return [to_line(ClaimLine, row) for row in session.execute(statement)]


def delete_claim(session: Session, *, attempt_id: str, by: str) -> None:
    """Let go of an attempt; what somebody else holds stays held."""
    session.execute(delete(ClaimRow).where(ClaimRow.attempt_id == attempt_id, ClaimRow.by == by))


def delete_expired_claims(session: Session, *, run_id: str, at: datetime) -> None:
    """Forget what nobody holds any more."""
    session.execute(delete(ClaimRow).where(ClaimRow.run_id == run_id, ClaimRow.until <= at))
