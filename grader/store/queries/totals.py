"""All of a gradebook in a few numbers: how many students, and how their totals are spread."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func, select, type_coerce

from grader.store.database import Session
from grader.store.queries.selections import ENROLMENTS, PEOPLE, TOTALS, Selection, chosen
from grader.store.tables import Enrolment, Person, Total


def count_chosen(session: Session, *, run_id: str, assignment: str, selection: Selection) -> int:
    """How many students are chosen."""
    statement = select(func.count()).select_from(Enrolment.__table__)
    if selection.text:
        statement = statement.join(Person.__table__, PEOPLE.id == ENROLMENTS.person_id)
    conditions = chosen(assignment, selection)
    statement = statement.where(ENROLMENTS.run_id == run_id, *conditions)
    return session.connection().scalar(statement) or 0


_SECTIONS = (
    select(ENROLMENTS.section)
    .where(ENROLMENTS.run_id == bindparam("run_id"), ENROLMENTS.section > "")
    .distinct()
    .order_by(ENROLMENTS.section)
)


def list_sections(session: Session, *, run_id: str) -> list[str]:
    """The sections of a course run that have a name, in order."""
    return list(session.connection().scalars(_SECTIONS, {"run_id": run_id}))


def _totals(run_id: str, assignment: str, selection: Selection, *columns: Any) -> Select[Any]:
    statement = (
        select(*columns)
        .select_from(Total.__table__)
        .join(Enrolment.__table__, ENROLMENTS.id == TOTALS.enrolment_id)
        .where(TOTALS.run_id == run_id, TOTALS.assignment == assignment)
    )
    if selection.text:
        statement = statement.join(Person.__table__, PEOPLE.id == ENROLMENTS.person_id)
    return statement.where(*chosen(assignment, selection))


def count_totals(
    session: Session, *, run_id: str, assignment: str, selection: Selection, step: Decimal
) -> dict[int, int]:
    """How many chosen students have totals in each step: 0 is from nothing to below one step."""
    place = (type_coerce(TOTALS.points, Integer) // int(step * 100)).label("place")
    statement = _totals(run_id, assignment, selection, place, func.count()).group_by("place")
    return {row[0]: row[1] for row in session.connection().execute(statement)}


def find_totals_at(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    selection: Selection,
    places: Iterable[int],
) -> dict[int, Decimal]:
    """The totals of chosen students at some places, counted from 0 at the lowest."""
    rank = func.row_number().over(order_by=(TOTALS.points, TOTALS.enrolment_id)).label("rank")
    ranked = _totals(run_id, assignment, selection, TOTALS.points, rank).subquery()
    statement = select(ranked.c.rank, ranked.c.points).where(
        ranked.c.rank.in_([each + 1 for each in places])
    )
    return {row[0] - 1: row[1] for row in session.connection().execute(statement)}
