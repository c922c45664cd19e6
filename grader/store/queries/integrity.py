"""Integrity checks: their progress, and the attempts that solve another student's variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import aliased

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.attempts import ShownVariant
from grader.store.rows import list_columns, to_line
from grader.store.tables.attempts import AttemptRow, VariantRow
from grader.store.tables.integrity import IntegrityCheckRow, ResemblanceRow
from grader.store.tables.people import EnrolmentRow, PersonRow

RUNNING, FINISHED, FAILED = "running", "finished", "failed"


@dataclass(frozen=True, slots=True)
class IntegrityCheckLine:
    """A check of an assignment.

    `done` of `of` attempts were tried, in `pairs` trials of an attempt on a variant. `by_accident`
    attempts solve one of as many random variants that belong to nobody.
    """

    id: str
    run_id: str
    assignment: str
    state: str
    done: int
    of: int
    pairs: int
    by_accident: int
    error: str
    by: str
    started_at: datetime
    seen_at: datetime
    finished_at: datetime | None


_CHECK = list_columns(IntegrityCheckRow, IntegrityCheckLine)


def add_check(session: Session, line: IntegrityCheckLine) -> None:
    """Add a check."""
    session.execute(insert(IntegrityCheckRow).values(**asdict(line)))


def find_check(
    session: Session, *, run_id: str, assignment: str, state: str | None = None
) -> IntegrityCheckLine | None:
    """The newest check of an assignment, in this state if one is given."""
    statement = (
        select(*_CHECK)
        .where(IntegrityCheckRow.run_id == run_id, IntegrityCheckRow.assignment == assignment)
        .order_by(IntegrityCheckRow.started_at.desc(), IntegrityCheckRow.id.desc())
        .limit(1)
    )
    if state is not None:
        statement = statement.where(IntegrityCheckRow.state == state)
    row = session.execute(statement).one_or_none()
    return to_line(IntegrityCheckLine, row) if row else None


def record_progress(
    session: Session, *, check_id: str, done: int, of: int, pairs: int, at: datetime
) -> bool:
    """Record a check's progress; False if it no longer runs and must stop."""
    return _update_running(session, check_id, done=done, of=of, pairs=pairs, seen_at=at)


def finish_check(
    session: Session, *, check_id: str, done: int, pairs: int, by_accident: int, at: datetime
) -> bool:
    """Record that a check has finished; False if it was abandoned in the meantime."""
    return _update_running(
        session, check_id, state=FINISHED, done=done, of=done, pairs=pairs,
        by_accident=by_accident, seen_at=at, finished_at=at,
    )  # fmt: skip


def record_failure(session: Session, *, check_id: str, error: str, at: datetime) -> bool:
    """Record why a check failed."""
    return _update_running(session, check_id, state=FAILED, error=error, finished_at=at)


def _update_running(session: Session, check_id: str, **changes: object) -> bool:
    """Change a running check; one that has ended is not changed."""
    changed = session.execute(
        update(IntegrityCheckRow)
        .where(IntegrityCheckRow.id == check_id, IntegrityCheckRow.state == RUNNING)
        .values(**changes)
        .returning(IntegrityCheckRow.id)
    )
    return changed.one_or_none() is not None


def count_attempts(session: Session, *, run_id: str, assignment: str) -> int:
    """Count the attempts at an assignment."""
    statement = select(func.count()).where(
        AttemptRow.run_id == run_id, AttemptRow.assignment == assignment
    )
    return session.scalar(statement) or 0


def list_shown_variants(
    session: Session, *, run_id: str, question: str, revision: int
) -> list[ShownVariant]:
    """The variants of a question that students of a course run have seen."""
    statement = (
        select(*list_columns(VariantRow, ShownVariant))
        .join(EnrolmentRow, EnrolmentRow.id == VariantRow.enrolment_id)
        .where(
            VariantRow.run_id == run_id,
            VariantRow.question == question,
            VariantRow.revision == revision,
            EnrolmentRow.role == Role.STUDENT.value,
        )
        .order_by(VariantRow.enrolment_id)
    )
    return [to_line(ShownVariant, row) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class ResemblanceLine:
    """An attempt that solves another student's variant.

    `other_attempt_id` is that student's attempt to compare with; `is_same` says whether its numbers
    are the same. The attempt solves the variants of `solves` of `others` students, and `hits` of
    `tried` random variants that belong to nobody.
    """

    check_id: str
    attempt_id: str
    other_id: str
    run_id: str
    other_attempt_id: str | None
    is_same: bool
    solves: int
    others: int
    hits: int
    tried: int


_RESEMBLANCE = list_columns(ResemblanceRow, ResemblanceLine)


def add_resemblances(session: Session, lines: Sequence[ResemblanceLine]) -> None:
    """Add the findings of a check."""
    if lines:
        session.execute(insert(ResemblanceRow), [asdict(each) for each in lines])


@dataclass(frozen=True, slots=True)
class ResemblanceDetails:
    """A resemblance with its people and attempts."""

    line: ResemblanceLine
    question: str
    number: int
    received_at: datetime
    login: str
    name: str
    other_login: str
    other_name: str
    other_number: int | None
    other_received_at: datetime | None


def list_resemblances(session: Session, *, check_id: str) -> list[ResemblanceDetails]:
    """All findings of a check, by question and time."""
    own, other = aliased(EnrolmentRow), aliased(EnrolmentRow)
    person, other_person = aliased(PersonRow), aliased(PersonRow)
    other_attempt = aliased(AttemptRow)
    statement = (
        select(
            *_RESEMBLANCE, AttemptRow.question, AttemptRow.number, AttemptRow.received_at,
            person.login,
            person.name, other_person.login, other_person.name, other_attempt.number,
            other_attempt.received_at,
        )
        .join(AttemptRow, AttemptRow.id == ResemblanceRow.attempt_id)
        .join(own, own.id == AttemptRow.enrolment_id)
        .join(person, person.id == own.person_id)
        .join(other, other.id == ResemblanceRow.other_id)
        .join(other_person, other_person.id == other.person_id)
        .outerjoin(other_attempt, other_attempt.id == ResemblanceRow.other_attempt_id)
        .where(ResemblanceRow.check_id == check_id)
        .order_by(AttemptRow.question, AttemptRow.received_at, AttemptRow.id, other_person.login)
    )  # fmt: skip
    count = len(_RESEMBLANCE)
    return [
        ResemblanceDetails(ResemblanceLine(*row[:count]), *row[count:])
        for row in (tuple(each) for each in session.execute(statement))
    ]
