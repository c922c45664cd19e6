"""What waits for staff in a course run, counted by the database: nothing is loaded to count it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, not_, select
from sqlalchemy.orm import aliased

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.tables import Attempt, Enrolment, Grade, Judgement, Person


def _is_newest() -> ColumnElement[bool]:
    later = aliased(Judgement)
    return ~(
        select(later.id)
        .where(later.attempt_id == Judgement.attempt_id, later.number > Judgement.number)
        .exists()
    )


def count_to_review(session: Session, *, run_id: str) -> dict[str, int]:
    """How many grades rest on text or files that nobody has graded yet, by assignment."""
    statement = (
        select(Grade.assignment, func.count())
        .where(Grade.run_id == run_id, Grade.pending > 0)
        .group_by(Grade.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_undecided(session: Session, *, run_id: str) -> dict[str, int]:
    """How many grades rest on an attempt that the engine could not decide, by assignment."""
    statement = (
        select(Grade.assignment, func.count())
        .where(Grade.run_id == run_id, Grade.needs_person)
        .group_by(Grade.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_tried(session: Session, *, run_id: str) -> dict[str, int]:
    """How many students who take part made an attempt, by assignment."""
    statement = (
        select(Grade.assignment, func.count(Grade.enrolment_id.distinct()))
        .where(
            Grade.run_id == run_id,
            Grade.attempts > 0,
            Grade.enrolment_id.not_in(_others(run_id)),
        )
        .group_by(Grade.assignment)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def count_students(session: Session, *, run_id: str) -> int:
    """How many students take part."""
    statement = (
        select(func.count())
        .select_from(Enrolment)
        .where(Enrolment.run_id == run_id, *_takes_part())
    )
    return session.scalar(statement) or 0


def _takes_part() -> tuple[ColumnElement[bool], ...]:
    return Enrolment.role == Role.STUDENT.value, Enrolment.left_at.is_(None)


def _others(run_id: str) -> Select[Any]:
    """Staff and those who left: far fewer than those who take part, and looked up once."""
    return select(Enrolment.id).where(Enrolment.run_id == run_id, not_(and_(*_takes_part())))


@dataclass(frozen=True, slots=True)
class StuckLine:
    """A student who has tried a question so many times and has not solved it."""

    assignment: str
    question: str
    enrolment_id: str
    login: str
    name: str
    attempts: int


def list_stuck(
    session: Session, *, run_id: str, assignments: Iterable[str], least: int
) -> list[StuckLine]:
    """Who made `least` attempts or more at a question and none that earned all automatic points.

    Those with the most attempts come first. A score that staff have decided is left out.
    """
    wanted = sorted(set(assignments))
    if not wanted:
        return []
    tried = aliased(Attempt)
    has_solved = (
        select(tried.id)
        .join(Judgement, Judgement.attempt_id == tried.id)
        .where(
            tried.enrolment_id == Grade.enrolment_id,
            tried.assignment == Grade.assignment,
            tried.question == Grade.question,
            Judgement.awarded >= Judgement.possible - Judgement.pending,
            _is_newest(),
        )
        .exists()
    )
    statement = (
        select(
            Grade.assignment,
            Grade.question,
            Grade.enrolment_id,
            Person.login,
            Person.name,
            Grade.attempts,
        )
        .join(Enrolment, and_(Enrolment.id == Grade.enrolment_id, *_takes_part()))
        .join(Person, Person.id == Enrolment.person_id)
        .where(
            Grade.run_id == run_id,
            Grade.assignment.in_(wanted),
            Grade.attempts >= least,
            ~Grade.is_overridden,
            ~has_solved,
        )
        .order_by(Grade.attempts.desc(), Person.login, Grade.question)
    )
    return [as_line(StuckLine, row) for row in session.execute(statement)]


def count_since(
    session: Session, *, run_id: str, assignment: str, since: datetime
) -> tuple[int, int]:
    """How many attempts at an assignment came since, and of how many students."""
    statement = select(func.count(), func.count(Attempt.enrolment_id.distinct())).where(
        Attempt.run_id == run_id,
        Attempt.assignment == assignment,
        Attempt.received_at >= since,
        Attempt.enrolment_id.not_in(_others(run_id)),
    )
    row = session.execute(statement).one()
    return row[0], row[1]
