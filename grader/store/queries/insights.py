"""What statistics are made from: everybody's attempts at an assignment, without the rest.

Answers, receipts and variants are by far the most of what is stored, and are not read here. Rows
come in no order, because sorting them in the database costs more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Integer, Select, Text, and_, func, not_, select, type_coerce
from sqlalchemy.orm import aliased

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.publications import find_in_force
from grader.store.rows import to_line
from grader.store.tables import (
    AttemptRow,
    EnrolmentRow,
    ExtensionRow,
    GradeRow,
    JudgementRow,
    PersonRow,
    VariantRow,
    ViewRow,
)

# So many rows are held at a time.
_ATTEMPTS_PER_FETCH = 2000


class AttemptOutcomeLine(NamedTuple):
    """An attempt by the judgement that holds; points are whole hundredths.

    A named tuple, because there may be hundreds of thousands of them.
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
    """Everybody's attempts at an assignment or a question of it, in no order."""
    later = aliased(JudgementRow)
    has_later = (
        select(later.id)
        .where(later.attempt_id == JudgementRow.attempt_id, later.number > JudgementRow.number)
        .exists()
    )
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
        .where(AttemptRow.run_id == run_id, AttemptRow.assignment == assignment, ~has_later)
        .execution_options(yield_per=_ATTEMPTS_PER_FETCH)
    )
    if question is not None:
        statement = statement.where(AttemptRow.question == question)
    # On the connection rather than the session, which would only handle every row once more. What
    # is JSON is parsed when its row's turn has come: thousands of parsed rows that wait for theirs
    # would cost more in garbage collection than in parsing.
    for *plain, verdicts, misconceptions in session.connection().execute(statement):
        yield AttemptOutcomeLine._make(
            (*plain, orjson.loads(verdicts), orjson.loads(misconceptions))
        )


def list_students(session: Session, *, run_id: str) -> list[tuple[str, bool]]:
    """The enrolments of all who are or were students of a course run, and whether they left."""
    statement = (
        select(EnrolmentRow.id, EnrolmentRow.left_at)
        .where(EnrolmentRow.run_id == run_id, EnrolmentRow.role == Role.STUDENT.value)
        .order_by(EnrolmentRow.id)
    )
    return [(row[0], row[1] is not None) for row in session.execute(statement)]


def list_views(session: Session, *, run_id: str, assignment: str) -> list[ViewLine]:
    """When everybody first saw the questions of an assignment."""
    statement = (
        select(ViewRow.enrolment_id, ViewRow.question, ViewRow.first_at)
        # Views are found by enrolment: they have no index of their own on the course run.
        .join(EnrolmentRow, EnrolmentRow.id == ViewRow.enrolment_id)
        .where(EnrolmentRow.run_id == run_id, ViewRow.assignment == assignment)
    )
    return [ViewLine(*row) for row in session.execute(statement)]


_VARIANTS_PER_FETCH = 2000


def compute_data_version(session: Session, *, run_id: str, assignment: str) -> tuple[object, ...]:
    """Something that changes with what statistics of an assignment are made from.

    Attempts and judgements are only ever added, so that counting them is enough, and an index does
    that. It may be the same by chance after two people changed places in the roster.
    """
    published = find_in_force(session, run_id=run_id, assignment=assignment)
    attempts = select(func.count()).select_from(AttemptRow).where(AttemptRow.run_id == run_id)
    judgements = select(func.count()).select_from(JudgementRow).where(JudgementRow.run_id == run_id)
    extensions = select(func.count()).select_from(ExtensionRow).where(ExtensionRow.run_id == run_id)
    roster = (
        select(EnrolmentRow.role, func.count(), func.count(EnrolmentRow.left_at))
        .where(EnrolmentRow.run_id == run_id)
        .group_by(EnrolmentRow.role)
        .order_by(EnrolmentRow.role)
    )
    return (
        published.id if published else None,
        session.scalar(attempts.where(AttemptRow.assignment == assignment)),
        # What was judged again; all first judgements belong to one attempt each.
        (session.scalar(judgements) or 0) - (session.scalar(attempts) or 0),
        session.scalar(extensions.where(ExtensionRow.assignment == assignment)),
        tuple(tuple(row) for row in session.execute(roster)),
    )


@dataclass(frozen=True, slots=True)
class FirstAttemptLine:
    """A student's first attempt at a question; points are whole hundredths."""

    enrolment_id: str
    awarded: int
    possible: int
    pending: int

    @property
    def is_solved(self) -> bool:
        """Whether it earned all that needs no person."""
        return self.awarded >= self.possible - self.pending


def list_first_attempts(
    session: Session, *, run_id: str, assignment: str, question: str
) -> list[FirstAttemptLine]:
    """The first attempts at a question at which something could be earned without a person."""
    later = aliased(JudgementRow)
    has_later = (
        select(later.id)
        .where(later.attempt_id == JudgementRow.attempt_id, later.number > JudgementRow.number)
        .exists()
    )
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
            ~has_later,
        )
    )
    return [to_line(FirstAttemptLine, row) for row in session.execute(statement)]


def stream_draws(
    session: Session, *, run_id: str, question: str, revision: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was drawn for everybody who was shown a question, by enrolment, in no order."""
    statement = (
        select(VariantRow.enrolment_id, type_coerce(VariantRow.drawn, Text))
        # Variants are found by enrolment: they have no index of their own on the course run.
        .join(EnrolmentRow, EnrolmentRow.id == VariantRow.enrolment_id)
        .where(
            EnrolmentRow.run_id == run_id,
            VariantRow.question == question,
            VariantRow.revision == revision,
        )
        .execution_options(yield_per=_VARIANTS_PER_FETCH)
    )
    for enrolment_id, drawn in session.connection().execute(statement):
        yield enrolment_id, orjson.loads(drawn)


@dataclass(frozen=True, slots=True)
class EnrolledPersonLine:
    """The person behind an enrolment."""

    enrolment_id: str
    login: str
    name: str


def find_people_by_enrolment(
    session: Session, *, enrolment_ids: Iterable[str]
) -> dict[str, EnrolledPersonLine]:
    """The people behind some enrolments, those who left included; at most some hundreds."""
    statement = (
        select(EnrolmentRow.id, PersonRow.login, PersonRow.name)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(EnrolmentRow.id.in_(sorted(set(enrolment_ids))))
    )
    lines = (to_line(EnrolledPersonLine, row) for row in session.execute(statement))
    return {each.enrolment_id: each for each in lines}


def _is_latest_judgement() -> ColumnElement[bool]:
    later = aliased(JudgementRow)
    return ~(
        select(later.id)
        .where(later.attempt_id == JudgementRow.attempt_id, later.number > JudgementRow.number)
        .exists()
    )


def count_to_review(session: Session, *, run_id: str) -> dict[str, int]:
    """How many grades rest on text or files that nobody has graded yet, by assignment."""
    statement = (
        select(GradeRow.assignment, func.count())
        .where(GradeRow.run_id == run_id, GradeRow.pending > 0)
        .group_by(GradeRow.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_undecided(session: Session, *, run_id: str) -> dict[str, int]:
    """How many grades rest on an attempt that the engine could not decide, by assignment."""
    statement = (
        select(GradeRow.assignment, func.count())
        .where(GradeRow.run_id == run_id, GradeRow.needs_person)
        .group_by(GradeRow.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_students_with_attempts(session: Session, *, run_id: str) -> dict[str, int]:
    """How many students who take part made an attempt, by assignment."""
    statement = (
        select(GradeRow.assignment, func.count(GradeRow.enrolment_id.distinct()))
        .where(
            GradeRow.run_id == run_id,
            GradeRow.attempts > 0,
            GradeRow.enrolment_id.not_in(_select_non_students(run_id)),
        )
        .group_by(GradeRow.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_students(session: Session, *, run_id: str) -> int:
    """How many students take part."""
    statement = (
        select(func.count())
        .select_from(EnrolmentRow)
        .where(EnrolmentRow.run_id == run_id, *_is_current_student())
    )
    return session.scalar(statement) or 0


def _is_current_student() -> tuple[ColumnElement[bool], ...]:
    return EnrolmentRow.role == Role.STUDENT.value, EnrolmentRow.left_at.is_(None)


def _select_non_students(run_id: str) -> Select[Any]:
    """Staff and those who left: far fewer than those who take part, and looked up once."""
    return select(EnrolmentRow.id).where(
        EnrolmentRow.run_id == run_id, not_(and_(*_is_current_student()))
    )


@dataclass(frozen=True, slots=True)
class StuckStudentLine:
    """A student who has tried a question so many times and has not solved it."""

    assignment: str
    question: str
    enrolment_id: str
    login: str
    name: str
    attempts: int


def list_stuck_students(
    session: Session, *, run_id: str, assignments: Iterable[str], least: int
) -> list[StuckStudentLine]:
    """Who made `least` attempts or more at a question and none that earned all automatic points.

    Those with the most attempts come first. A score that staff have decided is left out.
    """
    wanted = sorted(set(assignments))
    if not wanted:
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
            _is_latest_judgement(),
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
            GradeRow.assignment.in_(wanted),
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
    """How many attempts at an assignment came since, and of how many students."""
    statement = select(func.count(), func.count(AttemptRow.enrolment_id.distinct())).where(
        AttemptRow.run_id == run_id,
        AttemptRow.assignment == assignment,
        AttemptRow.received_at >= since,
        AttemptRow.enrolment_id.not_in(_select_non_students(run_id)),
    )
    row = session.execute(statement).one()
    return row[0], row[1]
