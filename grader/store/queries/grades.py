"""Grades: what a student's attempts, reviews and overrides add up to, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from grader.store.bulk import insert_rows
from grader.store.database import Session
from grader.store.keys import bind_keys, get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import get_table, list_columns, to_line
from grader.store.tables.attempts import AttemptRow
from grader.store.tables.decisions import GradeRow, TotalRow
from grader.store.upserts import insert_or_replace_from


class GradeLine(NamedTuple):
    """A student's grade for one question; `changes` counts how often it changed.

    `counted_points` and `counted_pending` are what the counted attempt earned, reviews included,
    before lateness and overrides. None where no attempt counts, and in grades that were stored
    before they were kept.
    """

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
    counted_points: Decimal | None
    counted_pending: Decimal | None

    @property
    def part(self) -> StudentQuestion:
        """Whose grade it is, and for what."""
        return self.enrolment_id, self.assignment, self.question


_GRADE = list_columns(GradeRow, GradeLine)


_PART = ("enrolment_id", "assignment", "question")


@cache
def _select_grades(dialect: str, *names: str) -> Select[Any]:
    keys = make_key_table(dialect, *names)
    return select(*_GRADE).join(keys, match_keys(keys, GradeRow))


def find_grades(
    session: Session, *, parts: Iterable[StudentQuestion]
) -> dict[StudentQuestion, GradeLine]:
    """The grades of these questions of students; where nothing was done yet there is none."""
    statement = _select_grades(get_dialect(session), *_PART)
    rows = list_by_keys(session, statement, parts)
    lines = (to_line(GradeLine, row) for row in rows)
    return {each.part: each for each in lines}


class ProgressLine(NamedTuple):
    """A student's grade for one question, with what the next attempt there needs to know."""

    grade: GradeLine
    counted_number: int | None
    counted_received_at: datetime | None
    last_number: int | None
    """The number of the newest attempt; None where there is none."""


@cache
def _select_progress(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, *_PART)
    counted = get_table(AttemptRow).alias("counted")
    last_number = (
        select(func.max(AttemptRow.number))
        .where(*(getattr(AttemptRow, name) == getattr(GradeRow, name) for name in _PART))
        .correlate(GradeRow)
        .scalar_subquery()
    )
    return (
        select(*_GRADE, counted.c.number, counted.c.received_at, last_number)
        .join(keys, match_keys(keys, GradeRow))
        .join(counted, counted.c.id == GradeRow.counted_attempt_id, isouter=True)
    )


def find_progress(
    session: Session, *, parts: Iterable[StudentQuestion]
) -> dict[StudentQuestion, ProgressLine]:
    """Where students stand with questions; where nothing was done yet there is no line.

    It reads the same however many attempts there are.
    """
    statement = _select_progress(get_dialect(session))
    found = {}
    for row in list_by_keys(session, statement, parts):
        *grade, number, received_at, last_number = row
        line = GradeLine(*grade)
        found[line.part] = ProgressLine(line, number, received_at, last_number)
    return found


def list_grades_of_assignments(
    session: Session, *, pairs: Iterable[tuple[str, str]]
) -> list[GradeLine]:
    """All grades of (enrolment, assignment) pairs."""
    statement = _select_grades(get_dialect(session), "enrolment_id", "assignment")
    rows = list_by_keys(session, statement, pairs)
    return [to_line(GradeLine, row) for row in rows]


def list_grades(session: Session, *, run_id: str, assignment: str | None = None) -> list[GradeLine]:
    """All grades of a course run, or of one assignment of it."""
    statement = select(*_GRADE).where(GradeRow.run_id == run_id)
    if assignment is not None:
        statement = statement.where(GradeRow.assignment == assignment)
    return [to_line(GradeLine, row) for row in session.execute(statement)]


@cache
def _select_sums(dialect: str) -> Select[Any]:
    owner: tuple[Any, ...] = (GradeRow.run_id, GradeRow.enrolment_id, GradeRow.assignment)
    keys = make_key_table(dialect, "enrolment_id", "assignment")
    return (
        select(*owner, func.coalesce(func.sum(GradeRow.points), 0), func.sum(GradeRow.pending))
        .join(keys, match_keys(keys, GradeRow))
        .group_by(*owner)
    )


def put_grades(session: Session, grades: Sequence[GradeLine]) -> None:
    """Store grades, each in place of the earlier one, and the students' totals."""
    insert_rows(
        session,
        get_table(GradeRow),
        GradeLine._fields,
        grades,
        key=("enrolment_id", "assignment", "question"),
    )
    if grades:
        insert_or_replace_from(
            session,
            TotalRow,
            ("run_id", "enrolment_id", "assignment", "points", "pending"),
            _select_sums(get_dialect(session)),
            key=("enrolment_id", "assignment"),
            parameters=bind_keys((each.enrolment_id, each.assignment) for each in grades),
        )
