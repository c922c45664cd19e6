"""What a regrade changes, as staff and students are shown it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Integer,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.orm import aliased

from grader.domain.regrades import RegradeState, Side
from grader.store.compiled import AnySelect, list_rows
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.regrades.judging import count_judgements
from grader.store.queries.regrades.records import RegradeLine
from grader.store.tables.attempts import AttemptRow, JudgementRow
from grader.store.tables.decisions import (
    GradeRow,
    TotalRow,
)
from grader.store.tables.people import EnrolmentRow, PersonRow
from grader.store.tables.regrades import LeftOutRow, RegradedGradeRow, RegradeRow
from grader.store.types import to_points


@dataclass(frozen=True, slots=True)
class RegradeCounts:
    """How many attempts were judged again or left out, and how many grades differ in which way.

    `other` are those that keep their points and differ otherwise, as in what they are out of.
    """

    attempts: int
    left_out: int
    grades: int
    up: int
    down: int
    other: int

    @property
    def same(self) -> int:
        """How many grades stay as they are."""
        return self.grades - self.up - self.down - self.other


def count_changes(session: Session, *, regrade_id: str) -> RegradeCounts:
    """What a regrade has found so far."""
    parts = (
        select(AttemptRow.enrolment_id, AttemptRow.question)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(JudgementRow.regrade_id == regrade_id)
        .distinct()
        .subquery()
    )
    gain = type_coerce(RegradedGradeRow.gain, Integer)
    sign = case((gain > 0, 1), (gain < 0, -1), else_=0)
    statement = (
        select(sign, func.count())
        .where(RegradedGradeRow.regrade_id == regrade_id, RegradedGradeRow.side == Side.AFTER.value)
        .group_by(sign)
    )
    signs = {row[0]: row[1] for row in session.execute(statement)}
    left_out = select(func.count()).where(LeftOutRow.regrade_id == regrade_id)
    return RegradeCounts(
        attempts=count_judgements(session, regrade_id=regrade_id),
        left_out=session.scalar(left_out) or 0,
        grades=session.scalar(select(func.count()).select_from(parts)) or 0,
        up=signs.get(1, 0),
        down=signs.get(-1, 0),
        other=signs.get(0, 0),
    )


@dataclass(frozen=True, slots=True)
class TotalChange:
    """A student whose total a regrade changes."""

    enrolment_id: str
    login: str
    name: str
    before: Decimal
    gain: Decimal

    @property
    def after(self) -> Decimal:
        """The total after the regrade."""
        return self.before + self.gain


def list_total_changes(session: Session, regrade: RegradeLine) -> list[TotalChange]:
    """The students whose total changes, as it was before the regrade, by login."""
    gain = func.sum(type_coerce(RegradedGradeRow.gain, Integer))
    is_applied = regrade.state is RegradeState.APPLIED
    statement = (
        select(
            EnrolmentRow.id,
            EnrolmentRow.login,
            PersonRow.name,
            type_coerce(TotalRow.points, Integer),
            gain,
        )
        .select_from(RegradedGradeRow)
        .join(EnrolmentRow, EnrolmentRow.id == RegradedGradeRow.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .join(
            TotalRow,
            and_(
                TotalRow.enrolment_id == EnrolmentRow.id,
                TotalRow.assignment == regrade.assignment,
            ),
        )
        .where(RegradedGradeRow.regrade_id == regrade.id, RegradedGradeRow.side == Side.AFTER.value)
        .group_by(EnrolmentRow.id, EnrolmentRow.login, PersonRow.name, TotalRow.points)
        .having(gain != 0)
        .order_by(EnrolmentRow.login)
    )
    return [
        TotalChange(
            enrolment_id,
            login,
            name,
            to_points(points - total_gain if is_applied else points),
            to_points(total_gain),
        )
        for enrolment_id, login, name, points, total_gain in session.execute(statement)
    ]


@dataclass(frozen=True, slots=True)
class GradeChange:
    """A grade before and after a regrade, with its student and the criteria that differ."""

    enrolment_id: str
    login: str
    name: str
    question: str
    before: Decimal | None
    before_possible: Decimal
    after: Decimal | None
    after_possible: Decimal
    gain: Decimal
    is_overridden: bool
    criteria: Any


def list_changes(
    session: Session, *, regrade_id: str, limit: int | None = None, offset: int = 0
) -> list[GradeChange]:
    """The grades that a regrade changes, those that lose most first."""
    before, after = aliased(RegradedGradeRow), aliased(RegradedGradeRow)
    statement = (
        select(
            after.enrolment_id,
            EnrolmentRow.login,
            PersonRow.name,
            after.question,
            before.points,
            before.possible,
            after.points,
            after.possible,
            after.gain,
            after.is_overridden,
            after.criteria,
        )
        .join(
            before,
            and_(
                before.regrade_id == after.regrade_id,
                before.enrolment_id == after.enrolment_id,
                before.question == after.question,
                before.side == Side.BEFORE.value,
            ),
        )
        .join(EnrolmentRow, EnrolmentRow.id == after.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(after.regrade_id == regrade_id, after.side == Side.AFTER.value)
        .order_by(after.gain, after.enrolment_id, after.question)
        .offset(offset)
    )
    if limit is not None:
        statement = statement.limit(limit)
    return [GradeChange(*row) for row in session.execute(statement)]


def list_kept_overrides(session: Session, regrade: RegradeLine) -> list[tuple[str, str]]:
    """The logins and questions of overrides that stay, whatever a regrade has judged there."""
    statement = (
        select(EnrolmentRow.login, GradeRow.question)
        .select_from(GradeRow)
        .join(EnrolmentRow, EnrolmentRow.id == GradeRow.enrolment_id)
        .where(
            GradeRow.run_id == regrade.run_id,
            GradeRow.assignment == regrade.assignment,
            GradeRow.question.in_(sorted(regrade.questions)),
            GradeRow.is_overridden,
        )
        .order_by(EnrolmentRow.login, GradeRow.question)
    )
    return [(row[0], row[1]) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class StudentRegrade:
    """What a regrade has changed about one student's grade, and whether it was undone."""

    before: Decimal | None
    before_possible: Decimal
    after: Decimal | None
    after_possible: Decimal
    reason: str
    at: datetime
    undo_reason: str
    undone_at: datetime | None


def list_student_regrades(session: Session, *, part: StudentQuestion) -> list[StudentRegrade]:
    """The regrades that were applied and have changed a student's grade, oldest first."""
    enrolment_id, assignment, question = part
    parameters = {"enrolment_id": enrolment_id, "assignment": assignment, "question": question}
    rows = list_rows(session, _OF_STUDENT, parameters)
    return [StudentRegrade(*row) for row in rows]


def _select_of_student() -> AnySelect:
    before, after = aliased(RegradedGradeRow), aliased(RegradedGradeRow)
    return (
        select(
            before.points,
            before.possible,
            after.points,
            after.possible,
            RegradeRow.reason,
            RegradeRow.decided_at,
            RegradeRow.undo_reason,
            RegradeRow.undone_at,
        )
        .select_from(after)
        .join(RegradeRow, RegradeRow.id == after.regrade_id)
        .join(
            before,
            and_(
                before.regrade_id == after.regrade_id,
                before.enrolment_id == after.enrolment_id,
                before.question == after.question,
                before.side == Side.BEFORE.value,
            ),
        )
        .where(
            after.enrolment_id == bindparam("enrolment_id"),
            RegradeRow.assignment == bindparam("assignment"),
            after.question == bindparam("question"),
            after.side == Side.AFTER.value,
            # Others have changed nothing, or nothing yet.
            or_(
                RegradeRow.state == RegradeState.APPLIED.value,
                RegradeRow.state == RegradeState.UNDONE.value,
            ),
        )
        .order_by(RegradeRow.number)
    )


_OF_STUDENT = _select_of_student()
