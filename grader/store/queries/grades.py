"""Grades: what a student's attempts, reviews and overrides add up to, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select

from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import split_into_batches, to_line
from grader.store.tables.decisions import GradeRow, TotalRow
from grader.store.upserts import insert_or_replace, insert_or_replace_from


@dataclass(frozen=True, slots=True)
class GradeLine:
    """A student's grade for one question; `changes` counts how often it changed."""

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
    def part(self) -> StudentQuestion:
        """Whose grade it is, and for what."""
        return self.enrolment_id, self.assignment, self.question


_GRADE = (
    GradeRow.run_id,
    GradeRow.enrolment_id,
    GradeRow.assignment,
    GradeRow.question,
    GradeRow.points,
    GradeRow.possible,
    GradeRow.pending,
    GradeRow.attempts,
    GradeRow.counted_attempt_id,
    GradeRow.late_days,
    GradeRow.is_overridden,
    GradeRow.needs_person,
    GradeRow.changes,
    GradeRow.changed_at,
)


# Much faster than `asdict`, which copies every value, and a publication settles thousands.
_GRADE_FIELDS = tuple(each.name for each in fields(GradeLine))


def find_grades(
    session: Session, *, parts: Iterable[StudentQuestion]
) -> dict[StudentQuestion, GradeLine]:
    """The grades of these questions of students; where nothing was done yet there is none."""
    wanted = set(parts)
    found: dict[StudentQuestion, GradeLine] = {}
    for some in split_into_batches(sorted({enrolment_id for enrolment_id, _, _ in wanted})):
        statement = select(*_GRADE).where(
            GradeRow.enrolment_id.in_(some),
            GradeRow.assignment.in_({assignment for _, assignment, _ in wanted}),
            GradeRow.question.in_({question for _, _, question in wanted}),
        )
        lines = (to_line(GradeLine, row) for row in session.execute(statement))
        found |= {each.part: each for each in lines if each.part in wanted}
    return found


def list_grades_of_students(
    session: Session, *, enrolment_ids: Iterable[str], assignment: str | None = None
) -> list[GradeLine]:
    """All grades of some students, for one assignment or for all."""
    statement = select(*_GRADE).where(GradeRow.enrolment_id.in_(list(enrolment_ids)))
    if assignment is not None:
        statement = statement.where(GradeRow.assignment == assignment)
    return [to_line(GradeLine, row) for row in session.execute(statement)]


def list_grades(session: Session, *, run_id: str, assignment: str | None = None) -> list[GradeLine]:
    """All grades of a course run, or of one assignment of it."""
    statement = select(*_GRADE).where(GradeRow.run_id == run_id)
    if assignment is not None:
        statement = statement.where(GradeRow.assignment == assignment)
    return [to_line(GradeLine, row) for row in session.execute(statement)]


def put_grades(session: Session, grades: Sequence[GradeLine]) -> None:
    """Store grades, each in place of the earlier one, and the students' totals."""
    insert_or_replace(
        session,
        GradeRow,
        [{name: getattr(each, name) for name in _GRADE_FIELDS} for each in grades],
        key=("enrolment_id", "assignment", "question"),
    )
    for assignment in sorted({each.assignment for each in grades}):
        students = {each.enrolment_id for each in grades if each.assignment == assignment}
        for some in split_into_batches(sorted(students)):
            _put_totals(session, some, assignment)


def _put_totals(session: Session, enrolment_ids: Sequence[str], assignment: str) -> None:
    owner: tuple[Any, ...] = (GradeRow.run_id, GradeRow.enrolment_id, GradeRow.assignment)
    sums = (
        select(*owner, func.coalesce(func.sum(GradeRow.points), 0), func.sum(GradeRow.pending))
        .where(GradeRow.enrolment_id.in_(enrolment_ids), GradeRow.assignment == assignment)
        .group_by(*owner)
    )
    insert_or_replace_from(
        session,
        TotalRow,
        ("run_id", "enrolment_id", "assignment", "points", "pending"),
        sums,
        key=("enrolment_id", "assignment"),
    )
