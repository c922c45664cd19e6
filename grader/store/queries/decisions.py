"""Staff decisions: reviews, overrides, external scores, and claims of attempts under review."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Select, delete, func, insert, or_, select

from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import list_columns, to_line
from grader.store.tables.attempts import AttemptRow
from grader.store.tables.decisions import ClaimRow, ExternalScoreRow, OverrideRow, ReviewRow
from grader.store.upserts import insert_or_replace_where


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """A person's grading of one criterion of an attempt."""

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


_REVIEW = list_columns(ReviewRow, ReviewLine)


def list_reviews(session: Session, *, attempt_ids: Iterable[str]) -> list[ReviewLine]:
    """All reviews of these attempts, oldest first."""
    statement = _select_reviews(get_dialect(session))
    rows = list_by_keys(session, statement, ((each,) for each in attempt_ids))
    return [to_line(ReviewLine, row) for row in rows]


@cache
def _select_reviews(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "attempt_id")
    return (
        select(*_REVIEW)
        .join(keys, match_keys(keys, ReviewRow))
        .order_by(ReviewRow.attempt_id, ReviewRow.criterion, ReviewRow.number)
    )


def select_latest_reviews(lines: Iterable[ReviewLine]) -> dict[str, dict[str, ReviewLine]]:
    """The newest reviews: attempt → criterion → review."""
    found: dict[str, dict[str, ReviewLine]] = {}
    for line in lines:
        found.setdefault(line.attempt_id, {})[line.criterion] = line
    return found


def add_review(session: Session, review: ReviewLine) -> None:
    """Add a review, which replaces earlier ones."""
    session.execute(insert(ReviewRow).values(**asdict(review)))


def list_comments(
    session: Session, *, run_id: str, assignment: str, question: str, criterion: str, limit: int
) -> list[str]:
    """Reviewers' comments on a criterion, without duplicates, most used first."""
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
    """An override of a score; without points it withdraws an earlier one."""

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
    possible: Decimal | None
    """Out of what the points were given; None where that was not kept yet."""

    @property
    def part(self) -> StudentQuestion:
        """Whose score it is, and for what."""
        return self.enrolment_id, self.assignment, self.question


def list_overrides(
    session: Session, *, student_questions: Iterable[StudentQuestion]
) -> list[OverrideLine]:
    """All overrides of these students' questions, oldest first."""
    return _list_scores(session, OverrideRow, OverrideLine, set(student_questions))


def add_override(session: Session, override: OverrideLine) -> None:
    """Add an override, which replaces earlier ones."""
    session.execute(insert(OverrideRow).values(**asdict(override)))


@dataclass(frozen=True, slots=True)
class ExternalScoreLine:
    """A score entered from outside."""

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
    possible: Decimal | None
    """Out of what the points were given; None where that was not kept yet."""

    @property
    def part(self) -> StudentQuestion:
        """Whose score it is, and for what."""
        return self.enrolment_id, self.assignment, self.question


def list_external_scores(
    session: Session, *, student_questions: Iterable[StudentQuestion]
) -> list[ExternalScoreLine]:
    """All external scores for these students' questions, oldest first."""
    return _list_scores(session, ExternalScoreRow, ExternalScoreLine, set(student_questions))


_Score = TypeVar("_Score", OverrideLine, ExternalScoreLine)


def _list_scores(
    session: Session,
    table: type[OverrideRow | ExternalScoreRow],
    line: type[_Score],
    keys: set[StudentQuestion],
) -> list[_Score]:
    statement = _select_scores(get_dialect(session), table)
    rows = list_by_keys(session, statement, keys)
    return [to_line(line, row) for row in rows]


@cache
def _select_scores(dialect: str, table: type[OverrideRow | ExternalScoreRow]) -> Select[Any]:
    line = OverrideLine if table is OverrideRow else ExternalScoreLine
    keys = make_key_table(dialect, "enrolment_id", "assignment", "question")
    return (
        select(*list_columns(table, line))
        .join(keys, match_keys(keys, table))
        .order_by(table.number)
    )


def add_external_scores(session: Session, scores: Sequence[ExternalScoreLine]) -> None:
    """Add external scores, which replace earlier ones."""
    if scores:
        session.execute(insert(ExternalScoreRow), [asdict(each) for each in scores])


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """Who is reviewing an attempt, and until when the claim lasts."""

    attempt_id: str
    run_id: str
    by: str
    until: datetime


_CLAIM = list_columns(ClaimRow, ClaimLine)


def take_claim(session: Session, claim: ClaimLine, *, at: datetime) -> bool:
    """Claim an attempt unless somebody else holds an unexpired claim; return whether it worked.

    One statement, so that the database decides between two reviewers at the same moment.
    """
    is_free = or_(ClaimRow.by == claim.by, ClaimRow.until <= at)
    return insert_or_replace_where(
        session, ClaimRow, asdict(claim), key="attempt_id", where=is_free
    )


def find_claim(session: Session, *, attempt_id: str, at: datetime) -> ClaimLine | None:
    """The current claim of an attempt."""
    statement = select(*_CLAIM).where(ClaimRow.attempt_id == attempt_id, ClaimRow.until > at)
    row = session.execute(statement).one_or_none()
    return to_line(ClaimLine, row) if row else None


def list_claims(session: Session, *, run_id: str, at: datetime) -> list[ClaimLine]:
    """All current claims in a course run."""
    statement = (
        select(*_CLAIM)
        .where(ClaimRow.run_id == run_id, ClaimRow.until > at)
        .order_by(ClaimRow.until.desc(), ClaimRow.attempt_id)
    )
    return [to_line(ClaimLine, row) for row in session.execute(statement)]


def delete_claim(session: Session, *, attempt_id: str, by: str) -> None:
    """Delete a person's claim of an attempt; claims of others stay."""
    session.execute(delete(ClaimRow).where(ClaimRow.attempt_id == attempt_id, ClaimRow.by == by))


def delete_expired_claims(session: Session, *, run_id: str, at: datetime) -> None:
    """Delete the expired claims of a course run."""
    session.execute(delete(ClaimRow).where(ClaimRow.run_id == run_id, ClaimRow.until <= at))
