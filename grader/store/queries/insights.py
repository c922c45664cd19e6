"""Input of the statistics and of the staff's home page: attempts, first views, counts.

Answers, receipts and variants take most of the space and are not read. Streams have no order,
because sorting in the database would cost more than reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    ColumnElement,
    ColumnExpressionArgument,
    Integer,
    Select,
    Text,
    and_,
    func,
    not_,
    select,
    type_coerce,
)
from sqlalchemy.orm import aliased

from grader.domain.regrades import RegradeState
from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.judgements import is_latest_of_many
from grader.store.queries.publications import find_in_force
from grader.store.rows import to_line
from grader.store.tables.attempts import AttemptRow, JudgementRow, VariantRow, ViewRow
from grader.store.tables.decisions import GradeRow
from grader.store.tables.people import EnrolmentRow, PersonRow
from grader.store.tables.publications import ExtensionRow
from grader.store.tables.regrades import RegradeRow

_ROWS_PER_FETCH = 2000


class AttemptOutcomeLine(NamedTuple):
    """An attempt with its latest judgement; points are whole hundredths.

    A named tuple, because there may be hundreds of thousands.
    """

    attempt_id: str
    enrolment_id: str
    question: str
    number: int
    received_at: datetime
    awarded: int
    possible: int
    pending: int
    needs_person: bool
    verdicts: Any
    misconceptions: Any


class ViewLine(NamedTuple):
    """When a student first saw a question."""

    enrolment_id: str
    question: str
    first_at: datetime


def stream_attempt_outcomes(
    session: Session, *, run_id: str, assignment: str, question: str | None = None
) -> Iterator[AttemptOutcomeLine]:
    """All attempts at an assignment, or at one question of it, in no order."""
    statement = (
        select(
            AttemptRow.id,
            AttemptRow.enrolment_id,
            AttemptRow.question,
            AttemptRow.number,
            AttemptRow.received_at,
            type_coerce(JudgementRow.awarded, Integer),
            type_coerce(JudgementRow.possible, Integer),
            type_coerce(JudgementRow.pending, Integer),
            JudgementRow.needs_person,
            type_coerce(JudgementRow.verdicts, Text),
            type_coerce(JudgementRow.misconceptions, Text),
        )
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(
            AttemptRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            is_latest_of_many(),
        )
        .execution_options(yield_per=_ROWS_PER_FETCH)
    )
    if question is not None:
        statement = statement.where(AttemptRow.question == question)
    # The connection is faster than the session, which would process every row again. JSON is
    # parsed row by row: thousands of parsed rows in memory would cost more in garbage collection
    # than in parsing.
    for *plain, verdicts, misconceptions in session.connection().execute(statement):
        yield AttemptOutcomeLine._make(
            (*plain, orjson.loads(verdicts), orjson.loads(misconceptions))
        )


def list_students(session: Session, *, run_id: str) -> list[tuple[str, bool]]:
    """The enrolments of all current and former students, and whether they have left."""
    statement = (
        select(EnrolmentRow.id, EnrolmentRow.left_at)
        .where(EnrolmentRow.run_id == run_id, EnrolmentRow.role == Role.STUDENT.value)
        .order_by(EnrolmentRow.id)
    )
    return [(row[0], row[1] is not None) for row in session.execute(statement)]


def list_views(session: Session, *, run_id: str, assignment: str) -> list[ViewLine]:
    """When each student first saw each question of an assignment."""
    statement = (
        select(ViewRow.enrolment_id, ViewRow.question, ViewRow.first_at)
        # Views are found by enrolment: they have no index on the course run.
        .join(EnrolmentRow, EnrolmentRow.id == ViewRow.enrolment_id)
        .where(EnrolmentRow.run_id == run_id, ViewRow.assignment == assignment)
    )
    return [ViewLine(*row) for row in session.execute(statement)]


def compute_data_version(session: Session, *, run_id: str, assignment: str) -> tuple[object, ...]:
    """A value that changes whenever the input of an assignment's statistics changes.

    Attempts are only ever added, so counting them by index is enough. The value
    misses a change of the roster that leaves its counts the same, such as two people who swap
    roles.
    """
    published = find_in_force(session, run_id=run_id, assignment=assignment)
    attempts, extensions = (
        select(func.count()).select_from(table).where(table.run_id == run_id)
        for table in (AttemptRow, ExtensionRow)
    )
    roster = (
        select(EnrolmentRow.role, func.count(), func.count(EnrolmentRow.left_at))
        .where(EnrolmentRow.run_id == run_id)
        .group_by(EnrolmentRow.role)
        .order_by(EnrolmentRow.role)
    )
    return (
        published.id if published else None,
        session.scalar(attempts.where(AttemptRow.assignment == assignment)),
        _list_applied(session, run_id, assignment),
        session.scalar(extensions.where(ExtensionRow.assignment == assignment)),
        tuple(tuple(row) for row in session.execute(roster)),
    )


def _list_applied(session: Session, run_id: str, assignment: str) -> tuple[str, ...]:
    """The regrades whose judgements count."""
    statement = (
        select(RegradeRow.id)
        .where(
            RegradeRow.run_id == run_id,
            RegradeRow.assignment == assignment,
            RegradeRow.state == RegradeState.APPLIED.value,
        )
        .order_by(RegradeRow.id)
    )
    return tuple(session.scalars(statement))


@dataclass(frozen=True, slots=True)
class FirstAttemptLine:
    """A student's first attempt at a question; points are whole hundredths."""

    enrolment_id: str
    awarded: int
    possible: int
    pending: int

    @property
    def is_solved(self) -> bool:
        """Whether it earned all automatic points."""
        return self.awarded >= self.possible - self.pending


def list_first_attempts(
    session: Session, *, run_id: str, assignment: str, question: str
) -> list[FirstAttemptLine]:
    """The first attempts at a question that could earn automatic points."""
    statement = (
        select(
            AttemptRow.enrolment_id,
            type_coerce(JudgementRow.awarded, Integer),
            type_coerce(JudgementRow.possible, Integer),
            type_coerce(JudgementRow.pending, Integer),
        )
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(
            AttemptRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            AttemptRow.question == question,
            AttemptRow.number == 1,
            JudgementRow.possible > JudgementRow.pending,
            is_latest_of_many(),
        )
    )
    return [to_line(FirstAttemptLine, row) for row in session.execute(statement)]


def stream_draws(
    session: Session, *, run_id: str, question: str, revision: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The draws of all students who have seen a question, by enrolment, in no order."""
    statement = (
        select(VariantRow.enrolment_id, type_coerce(VariantRow.drawn, Text))
        # Variants are found by enrolment: they have no index on the course run.
        .join(EnrolmentRow, EnrolmentRow.id == VariantRow.enrolment_id)
        .where(
            EnrolmentRow.run_id == run_id,
            VariantRow.question == question,
            VariantRow.revision == revision,
        )
        .execution_options(yield_per=_ROWS_PER_FETCH)
    )
    for enrolment_id, drawn in session.connection().execute(statement):
        yield enrolment_id, orjson.loads(drawn)


def count_to_review(session: Session, *, run_id: str) -> dict[str, int]:
    """Count the grades with text or files still to be graded, by assignment."""
    return _count_grades(session, run_id, func.count(), GradeRow.pending > 0)


def count_undecided(session: Session, *, run_id: str) -> dict[str, int]:
    """Count the grades that rest on an attempt that the engine left undecided, by assignment."""
    return _count_grades(session, run_id, func.count(), GradeRow.needs_person)


def count_students_with_attempts(session: Session, *, run_id: str) -> dict[str, int]:
    """Count the current students who have made an attempt, by assignment."""
    is_current = GradeRow.enrolment_id.not_in(_select_non_students(run_id))
    students = func.count(GradeRow.enrolment_id.distinct())
    return _count_grades(session, run_id, students, GradeRow.attempts > 0, is_current)


def _count_grades(
    session: Session,
    run_id: str,
    count: ColumnElement[int],
    *conditions: ColumnExpressionArgument[bool],
) -> dict[str, int]:
    statement = (
        select(GradeRow.assignment, count)
        .where(GradeRow.run_id == run_id, *conditions)
        .group_by(GradeRow.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_students(session: Session, *, run_id: str) -> int:
    """Count the current students."""
    statement = (
        select(func.count())
        .select_from(EnrolmentRow)
        .where(EnrolmentRow.run_id == run_id, *_is_current_student())
    )
    return session.scalar(statement) or 0


def _is_current_student() -> tuple[ColumnElement[bool], ...]:
    return EnrolmentRow.role == Role.STUDENT.value, EnrolmentRow.left_at.is_(None)


def _select_non_students(run_id: str) -> Select[Any]:
    """Staff and those who have left: far fewer than the current students."""
    return select(EnrolmentRow.id).where(
        EnrolmentRow.run_id == run_id, not_(and_(*_is_current_student()))
    )


@dataclass(frozen=True, slots=True)
class StuckStudentLine:
    """A student with many attempts at a question, none of which solved it."""

    assignment: str
    question: str
    enrolment_id: str
    login: str
    name: str
    attempts: int


def list_stuck_students(
    session: Session, *, run_id: str, assignments: Iterable[str], least: int
) -> list[StuckStudentLine]:
    """Students with `least` attempts or more at a question, none of which earned all points.

    Only automatic points count, and overridden scores are left out. Most attempts come first.
    """
    names = sorted(set(assignments))
    if not names:
        return []
    tried = aliased(AttemptRow)
    has_solved = (
        select(tried.id)
        .join(JudgementRow, JudgementRow.attempt_id == tried.id)
        .where(
            tried.enrolment_id == GradeRow.enrolment_id,
            tried.assignment == GradeRow.assignment,
            tried.question == GradeRow.question,
            JudgementRow.awarded >= JudgementRow.possible - JudgementRow.pending,
            is_latest_of_many(),
        )
        .exists()
    )
    statement = (
        select(
            GradeRow.assignment,
            GradeRow.question,
            GradeRow.enrolment_id,
            PersonRow.login,
            PersonRow.name,
            GradeRow.attempts,
        )
        .join(EnrolmentRow, and_(EnrolmentRow.id == GradeRow.enrolment_id, *_is_current_student()))
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(
            GradeRow.run_id == run_id,
            GradeRow.assignment.in_(names),
            GradeRow.attempts >= least,
            ~GradeRow.is_overridden,
            ~has_solved,
        )
        .order_by(GradeRow.attempts.desc(), PersonRow.login, GradeRow.question)
    )
    return [to_line(StuckStudentLine, row) for row in session.execute(statement)]


def count_recent_attempts(
    session: Session, *, run_id: str, assignment: str, since: datetime
) -> tuple[int, int]:
    """Count the attempts at an assignment since a time, and the students who made them."""
    statement = select(func.count(), func.count(AttemptRow.enrolment_id.distinct())).where(
        AttemptRow.run_id == run_id,
        AttemptRow.assignment == assignment,
        AttemptRow.received_at >= since,
        AttemptRow.enrolment_id.not_in(_select_non_students(run_id)),
    )
    row = session.execute(statement).one()
    return row[0], row[1]
