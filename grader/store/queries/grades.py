"""Grades: what a student's attempts, reviews and overrides come to, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select

from grader.store.batches import portions
from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.queries.attempts import Part
from grader.store.tables import Grade, Total
from grader.store.upserts import insert_or_replace, insert_or_replace_from


@dataclass(frozen=True, slots=True)
class GradeLine:
    """Where a student stands with one question; `changes` counts how often that changed."""

    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    points: Decimal | None
    possible: Decimal
    pending: Decimal
    attempts: int
    counted_attempt_id: str | None
    late_days: int
    is_overridden: bool
    needs_person: bool
    changes: int
    changed_at: datetime

    @property
    def part(self) -> Part:
        """Whose grade it is, and for what."""
        return self.enrolment_id, self.assignment, self.question


_GRADE = (
    Grade.run_id,
    Grade.enrolment_id,
    Grade.assignment,
    Grade.question,
    Grade.points,
    Grade.possible,
    Grade.pending,
    Grade.attempts,
    Grade.counted_attempt_id,
    Grade.late_days,
    Grade.is_overridden,
    Grade.needs_person,
    Grade.changes,
    Grade.changed_at,
)


# Much faster than `asdict`, which copies every value, and a publication settles thousands.
_NAMES = tuple(each.name for each in fields(GradeLine))


def find_grades(session: Session, *, parts: Iterable[Part]) -> dict[Part, GradeLine]:
    """The grades of these parts; those at which nothing was done yet are absent."""
    wanted = set(parts)
    found: dict[Part, GradeLine] = {}
    for some in portions(sorted({enrolment_id for enrolment_id, _, _ in wanted})):
        statement = select(*_GRADE).where(
            Grade.enrolment_id.in_(some),
            Grade.assignment.in_({assignment for _, assignment, _ in wanted}),
            Grade.question.in_({question for _, _, question in wanted}),
        )
        lines = (as_line(GradeLine, row) for row in session.execute(statement))
        found |= {each.part: each for each in lines if each.part in wanted}
    return found


def list_grades_of(
    session: Session, *, enrolment_ids: Iterable[str], assignment: str | None = None
) -> list[GradeLine]:
    """All grades of some students, for one assignment or for all."""
    statement = select(*_GRADE).where(Grade.enrolment_id.in_(list(enrolment_ids)))
    if assignment is not None:
        statement = statement.where(Grade.assignment == assignment)
    return [as_line(GradeLine, row) for row in session.execute(statement)]


def list_grades(session: Session, *, run_id: str, assignment: str | None = None) -> list[GradeLine]:
    """Everybody's grades in a course run, or for one assignment of it."""
    statement = select(*_GRADE).where(Grade.run_id == run_id)
    if assignment is not None:
        statement = statement.where(Grade.assignment == assignment)
    return [as_line(GradeLine, row) for row in session.execute(statement)]


def put_grades(session: Session, grades: Sequence[GradeLine]) -> None:
    """Keep grades, each instead of the one before, and what each student's come to with them."""
    insert_or_replace(
        session,
        Grade,
        [{name: getattr(each, name) for name in _NAMES} for each in grades],
        key=("enrolment_id", "assignment", "question"),
    )
    for assignment in sorted({each.assignment for each in grades}):
        students = {each.enrolment_id for each in grades if each.assignment == assignment}
        for some in portions(sorted(students)):
            _keep_totals(session, some, assignment)


def _keep_totals(session: Session, enrolment_ids: Sequence[str], assignment: str) -> None:
    owner: tuple[Any, ...] = (Grade.run_id, Grade.enrolment_id, Grade.assignment)
    sums = (
        select(*owner, func.coalesce(func.sum(Grade.points), 0), func.sum(Grade.pending))
        .where(Grade.enrolment_id.in_(enrolment_ids), Grade.assignment == assignment)
        .group_by(*owner)
    )
    insert_or_replace_from(
        session,
        Total,
        ("run_id", "enrolment_id", "assignment", "points", "pending"),
        sums,
        key=("enrolment_id", "assignment"),
    )
