"""The grades that a regrade changes, before it and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Select,
    and_,
    bindparam,
    delete,
    func,
    select,
    update,
)

from grader.domain.regrades import Side
from grader.store.bulk import insert_rows
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.grades import GradeLine
from grader.store.queries.regrades.records import RegradeLine
from grader.store.rows import get_table, split_into_batches
from grader.store.tables.attempts import AttemptRow
from grader.store.tables.decisions import (
    ExternalScoreRow,
    GradeRow,
    OverrideRow,
    ReviewRow,
    TotalRow,
)
from grader.store.tables.publications import ExtensionRow
from grader.store.tables.regrades import RegradedGradeRow
from grader.store.upserts import insert_or_replace_from


@dataclass(frozen=True, slots=True)
class RegradedGrade:
    """A grade before a regrade and after it, with the criteria that make the difference."""

    before: GradeLine
    after: GradeLine
    criteria: Sequence[Any]

    @property
    def gain(self) -> Decimal:
        """By how many points it rises."""
        return (self.after.points or Decimal(0)) - (self.before.points or Decimal(0))


_GRADE = tuple(name for name in GradeLine._fields if name not in ("assignment", "changed_at"))
_REGRADED = ("regrade_id", "side", "gain", "criteria", *_GRADE)


def add_regraded_grades(
    session: Session, regrade: RegradeLine, grades: Sequence[RegradedGrade]
) -> None:
    """Keep what a regrade changes about grades."""
    insert_rows(
        session,
        get_table(RegradedGradeRow),
        _REGRADED,
        [
            (
                regrade.id, side.value, each.gain, each.criteria,
                *(getattr(line, name) for name in _GRADE),
            )
            for each in grades
            for side, line in ((Side.BEFORE, each.before), (Side.AFTER, each.after))
        ],
    )  # fmt: skip


def list_regraded_parts(session: Session, regrade: RegradeLine) -> list[StudentQuestion]:
    """The grades that a regrade changes."""
    statement = select(RegradedGradeRow.enrolment_id, RegradedGradeRow.question).where(
        RegradedGradeRow.regrade_id == regrade.id, RegradedGradeRow.side == Side.AFTER.value
    )
    return [(row[0], regrade.assignment, row[1]) for row in session.execute(statement)]


def delete_regraded_grades(
    session: Session, *, regrade_id: str, parts: Sequence[StudentQuestion]
) -> None:
    """Forget what a regrade changes about these grades."""
    part = RegradedGradeRow.enrolment_id + "/" + RegradedGradeRow.question
    for batch in split_into_batches(parts):
        named = [f"{enrolment_id}/{question}" for enrolment_id, _, question in batch]
        session.execute(
            delete(RegradedGradeRow).where(
                RegradedGradeRow.regrade_id == regrade_id, part.in_(named)
            )
        )


def put_regraded_grades(
    session: Session, regrade: RegradeLine, *, side: Side, at: datetime
) -> None:
    """Give all grades that a regrade changes the values of one side, by one statement.

    Grades that have changed since they were compared stay as they are, see `list_outdated`.
    """
    kept = get_table(RegradedGradeRow).c
    grades = get_table(GradeRow)
    values = {name: kept[name] for name in _SETTLED}
    session.execute(
        update(grades)
        .values(**values, changes=grades.c.changes + 1, changed_at=at)
        .where(
            kept.regrade_id == regrade.id,
            kept.side == side.value,
            grades.c.enrolment_id == kept.enrolment_id,
            grades.c.assignment == regrade.assignment,
            grades.c.question == kept.question,
            grades.c.changes == kept.changes + _STEP[side],
        )
    )
    insert_or_replace_from(
        session,
        TotalRow,
        ("run_id", "enrolment_id", "assignment", "points", "pending"),
        _SUMS,
        key=("enrolment_id", "assignment"),
        parameters={"regrade_id": regrade.id, "of_assignment": regrade.assignment},
    )


#: What follows from the judgements of attempts.
_SETTLED = tuple(
    name
    for name in GradeLine._fields
    if name not in ("run_id", "enrolment_id", "assignment", "question", "changes", "changed_at")
)
#: From the number of changes that a side has to that of the grade which it replaces.
_STEP = {Side.AFTER: -1, Side.BEFORE: 1}


def _select_sums() -> Select[Any]:
    owner: tuple[Any, ...] = (GradeRow.run_id, GradeRow.enrolment_id, GradeRow.assignment)
    changed = select(RegradedGradeRow.enrolment_id).where(
        RegradedGradeRow.regrade_id == bindparam("regrade_id")
    )
    return (
        select(*owner, func.coalesce(func.sum(GradeRow.points), 0), func.sum(GradeRow.pending))
        .where(
            GradeRow.assignment == bindparam("of_assignment"), GradeRow.enrolment_id.in_(changed)
        )
        .group_by(*owner)
    )


_SUMS = _select_sums()


def list_outdated(session: Session, regrade: RegradeLine, *, side: Side) -> list[StudentQuestion]:
    """The grades to be given the values of a side that have changed since they were compared."""
    statement = (
        select(RegradedGradeRow.enrolment_id, RegradedGradeRow.question)
        .join(
            GradeRow,
            and_(
                GradeRow.enrolment_id == RegradedGradeRow.enrolment_id,
                GradeRow.assignment == regrade.assignment,
                GradeRow.question == RegradedGradeRow.question,
            ),
        )
        .where(
            RegradedGradeRow.regrade_id == regrade.id,
            RegradedGradeRow.side == side.value,
            GradeRow.changes != RegradedGradeRow.changes + _STEP[side],
        )
    )
    return [(row[0], regrade.assignment, row[1]) for row in session.execute(statement)]


def list_touched(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    attempts_since: datetime,
    decisions_since: datetime,
) -> list[StudentQuestion]:
    """Grades with new attempts or decisions of staff, whether or not these changed them."""
    of_attempt = (AttemptRow.enrolment_id, AttemptRow.question)
    statements: list[Select[Any, Any]] = [
        select(*of_attempt).where(
            AttemptRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            AttemptRow.stored_at >= attempts_since,
        ),
        select(*of_attempt)
        .join(ReviewRow, ReviewRow.attempt_id == AttemptRow.id)
        .where(
            ReviewRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            ReviewRow.at >= decisions_since,
        ),
        select(GradeRow.enrolment_id, GradeRow.question)
        .join(
            ExtensionRow,
            and_(
                ExtensionRow.enrolment_id == GradeRow.enrolment_id,
                ExtensionRow.assignment == GradeRow.assignment,
            ),
        )
        .where(
            ExtensionRow.run_id == run_id,
            GradeRow.assignment == assignment,
            ExtensionRow.at >= decisions_since,
        ),
    ]
    statements += [
        select(table.enrolment_id, table.question).where(
            table.run_id == run_id, table.assignment == assignment, table.at >= decisions_since
        )
        for table in (OverrideRow, ExternalScoreRow)
    ]
    found = {tuple(row) for each in statements for row in session.execute(each)}
    return [(enrolment_id, assignment, question) for enrolment_id, question in sorted(found)]
