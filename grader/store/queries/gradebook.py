"""Pages of a gradebook: some students in some order, read by indexes and no further than needed.

Those who have no number to be ordered by come after those who have one, by login. So an order has
one leg or two, each with an index of its own, and a place in it is the key of a student in one of
the legs: a login, or a number with the enrolment that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    String,
    bindparam,
    exists,
    func,
    null,
    or_,
    select,
    tuple_,
    type_coerce,
)

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine, MemberLine
from grader.store.rows import split_into_batches
from grader.store.tables import EnrolmentRow, GradeRow, PersonRow, TotalRow
from grader.store.types import to_points


class SelectionState(StrEnum):
    """What students may be chosen by, besides who they are."""

    WAITING = "waiting"
    OVERRIDDEN = "overridden"
    LATE = "late"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which students: by a part of the name or login, by section, by state; by default all."""

    text: str = ""
    section: str = ""
    state: SelectionState | None = None

    @property
    def is_all(self) -> bool:
        """Whether nobody is left out."""
        return self == EVERYBODY


EVERYBODY = Selection()

# Plain tables: what is asked for are columns, never objects, and their statements are built faster.
_ENROLMENTS, _PEOPLE, _TOTALS = (
    EnrolmentRow.__table__.c,
    PersonRow.__table__.c,
    TotalRow.__table__.c,
)
# The statement around may read the same tables in other rows.
_grade_alias, _total_alias = GradeRow.__table__.alias().c, TotalRow.__table__.alias().c


def _build_conditions(assignment: str, selection: Selection) -> list[ColumnElement[bool]]:
    """Conditions on enrolments and, where there is a text, on people.

    Who left and who teaches is in no gradebook.
    """
    found = [_ENROLMENTS.role == Role.STUDENT.value, _ENROLMENTS.left_at.is_(None)]
    if selection.section:
        found.append(_ENROLMENTS.section == selection.section)
    if selection.text:
        found.append(
            or_(
                _ENROLMENTS.login.icontains(selection.text, autoescape=True),
                _PEOPLE.name.icontains(selection.text, autoescape=True),
            )
        )
    if selection.state is not None:
        found.append(_has_state(selection.state, assignment))
    return found


def _has_state(state: SelectionState, assignment: str) -> ColumnElement[bool]:
    if state is SelectionState.NOTHING:
        return ~exists().where(
            _total_alias.enrolment_id == _ENROLMENTS.id, _total_alias.assignment == assignment
        )
    marks: dict[SelectionState, ColumnElement[bool]] = {
        SelectionState.WAITING: or_(
            _grade_alias.needs_person, type_coerce(_grade_alias.pending, Integer) > 0
        ),
        SelectionState.OVERRIDDEN: _grade_alias.is_overridden.is_(True),
        SelectionState.LATE: _grade_alias.late_days > 0,
    }
    return exists().where(
        _grade_alias.enrolment_id == _ENROLMENTS.id,
        _grade_alias.assignment == assignment,
        marks[state],
    )


class SortColumn(StrEnum):
    """What students may be ordered by."""

    LOGIN = "login"
    TOTAL = "total"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order of students; `question` is empty unless it is the column."""

    column: SortColumn = SortColumn.LOGIN
    question: str = ""
    is_descending: bool = False


BY_LOGIN = SortOrder()

#: A login, or hundredths of points with an enrolment's id.
SortKey = tuple[str] | tuple[int, str]


@dataclass(frozen=True, slots=True)
class PageCursor:
    """A place in an order: a page goes on after it, or backwards from before it."""

    key: SortKey
    is_backwards: bool = False


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Some students in order, and where the pages beside this one begin."""

    members: tuple[MemberLine, ...]
    before: PageCursor | None = None
    after: PageCursor | None = None


# Orders


@dataclass(frozen=True, slots=True)
class _Segment:
    """Students by the columns of a key, which is unique."""

    statement: Select[Any]
    key: tuple[Any, ...]
    is_descending: bool = False

    def go_on(self, spot: PageCursor | None, *, is_backwards: bool) -> Select[Any]:
        """The students after a place, or all of them, in the order of the leg or against it."""
        is_falling = self.is_descending != is_backwards
        statement = self.statement
        if spot is not None:
            here, there = tuple_(*self.key), tuple_(*self._values(spot.key))
            statement = statement.where(here < there if is_falling else here > there)
        return statement.order_by(*(each.desc() if is_falling else each for each in self.key))

    def _values(self, key: SortKey) -> list[ColumnElement[Any]]:
        kinds = (String(), Integer())
        return [type_coerce(each, kinds[isinstance(each, int)]) for each in key]


_MEMBER: tuple[Any, ...] = (
    EnrolmentRow.id,
    EnrolmentRow.run_id,
    EnrolmentRow.person_id,
    EnrolmentRow.role,
    EnrolmentRow.section,
    EnrolmentRow.login,
    PersonRow.name,
    PersonRow.email,
    EnrolmentRow.left_at,
)


def _build_segments(
    run_id: str, assignment: str, selection: Selection, order: SortOrder
) -> list[_Segment]:
    conditions = _build_conditions(assignment, selection)
    by_login = (
        select(*_MEMBER, null().label("number"))
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(EnrolmentRow.run_id == run_id, *conditions)
    )
    if order.column is SortColumn.LOGIN:
        return [_Segment(by_login, (EnrolmentRow.login,), order.is_descending)]
    table, of_table = _choose_numbers(run_id, assignment, order)
    number = type_coerce(table.points, Integer)
    numbered = (
        select(*_MEMBER, number.label("number"))
        .select_from(table)
        # Which run it is says the table with the numbers, so that reading begins there.
        .join(EnrolmentRow, EnrolmentRow.id == table.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(*of_table, *conditions)
    )
    there = exists().where(table.enrolment_id == EnrolmentRow.id, *of_table)
    return [
        _Segment(numbered, (number, table.enrolment_id), order.is_descending),
        _Segment(by_login.where(~there), (EnrolmentRow.login,)),
    ]


def _choose_numbers(
    run_id: str, assignment: str, order: SortOrder
) -> tuple[Any, list[ColumnElement[bool]]]:
    if order.column is SortColumn.TOTAL:
        return TotalRow, [TotalRow.run_id == run_id, TotalRow.assignment == assignment]
    return GradeRow, [
        GradeRow.run_id == run_id,
        GradeRow.assignment == assignment,
        GradeRow.question == order.question,
        GradeRow.points.is_not(None),
    ]


def list_page(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    selection: Selection = EVERYBODY,
    order: SortOrder = BY_LOGIN,
    spot: PageCursor | None = None,
    limit: int | None = None,
) -> MemberPage:
    """Students in an order, from a place on; without a limit, all that are left."""
    legs = _build_segments(run_id, assignment, selection, order)
    found = _read_segments(session, legs, spot, None if limit is None else limit + 1)
    is_more = limit is not None and len(found) > limit
    found = found[:limit]
    is_backwards = spot is not None and spot.is_backwards
    if is_backwards:
        found.reverse()
    if not found:
        return MemberPage(())
    first, last = (PageCursor(_make_key(each, order)) for each in (found[0], found[-1]))
    has_before, has_after = (is_more, True) if is_backwards else (spot is not None, is_more)
    return MemberPage(
        tuple(_to_member(each) for each in found),
        replace(first, is_backwards=True) if has_before else None,
        last if has_after else None,
    )


def _read_segments(
    session: Session, legs: list[_Segment], spot: PageCursor | None, limit: int | None
) -> list[Any]:
    is_backwards = spot is not None and spot.is_backwards
    left = list(reversed(legs)) if is_backwards else list(legs)
    if spot is not None:
        # The length of a key says which leg it is from.
        while left and len(left[0].key) != len(spot.key):
            left.pop(0)
    found: list[Any] = []
    for place, leg in enumerate(left):
        statement = leg.go_on(spot if place == 0 else None, is_backwards=is_backwards)
        if limit is not None:
            statement = statement.limit(limit - len(found))
        found += session.execute(statement)
        if len(found) == limit:
            break
    return found


def _make_key(row: Any, order: SortOrder) -> SortKey:
    if order.column is SortColumn.LOGIN or row.number is None:
        return (row.login,)
    return (row.number, row.id)


def _to_member(row: Any) -> MemberLine:
    enrolment = EnrolmentLine(row.id, row.run_id, row.person_id, Role(row.role), row.section)
    return MemberLine(enrolment, row.login, row.name, row.email, row.left_at)


# What stands in the cells


class CellLine(NamedTuple):
    """A student's grade for a question, as far as a gradebook tells of it.

    There are thousands on a page, so that they are tuples, and points are what the database has:
    whole hundredths.
    """

    enrolment_id: str
    question: str
    hundredths: int | None
    pending_hundredths: int
    attempts: int
    counted_attempt_id: str | None
    late_days: int
    is_overridden: bool
    needs_person: bool

    @property
    def points(self) -> Decimal | None:
        """The points, where there are any yet."""
        return None if self.hundredths is None else to_points(self.hundredths)

    @property
    def pending(self) -> Decimal:
        """The points that still wait for a person."""
        return to_points(self.pending_hundredths)

    @property
    def is_waiting(self) -> bool:
        """Whether a person has still to look at it."""
        return self.needs_person or self.pending_hundredths > 0


_GRADES = GradeRow.__table__.c
_CELL = (
    _GRADES.enrolment_id,
    _GRADES.question,
    type_coerce(_GRADES.points, Integer),
    type_coerce(_GRADES.pending, Integer),
    _GRADES.attempts,
    _GRADES.counted_attempt_id,
    _GRADES.late_days,
    # SQLite has 0 and 1 for them, which are as good; to turn thousands of them would take long.
    type_coerce(_GRADES.is_overridden, Integer),
    type_coerce(_GRADES.needs_person, Integer),
)


def list_cells(
    session: Session, *, assignment: str, enrolment_ids: Sequence[str]
) -> Iterator[CellLine]:
    """The grades of these students for an assignment."""
    for some in split_into_batches(enrolment_ids):
        statement = select(*_CELL).where(
            _GRADES.enrolment_id.in_(some), _GRADES.assignment == assignment
        )
        # As the driver gives them: there are thousands, and none needs to be turned into anything.
        with session.connection().execute(statement) as result:
            assert result.cursor is not None, "a select has a cursor"
            yield from map(CellLine._make, result.cursor.fetchall())


def count_selected(session: Session, *, run_id: str, assignment: str, selection: Selection) -> int:
    """How many students are chosen."""
    statement = select(func.count()).select_from(EnrolmentRow.__table__)
    if selection.text:
        statement = statement.join(PersonRow.__table__, _PEOPLE.id == _ENROLMENTS.person_id)
    conditions = _build_conditions(assignment, selection)
    statement = statement.where(_ENROLMENTS.run_id == run_id, *conditions)
    return session.connection().scalar(statement) or 0


_SECTIONS = (
    select(_ENROLMENTS.section)
    .where(_ENROLMENTS.run_id == bindparam("run_id"), _ENROLMENTS.section > "")
    .distinct()
    .order_by(_ENROLMENTS.section)
)


def list_named_sections(session: Session, *, run_id: str) -> list[str]:
    """The sections of a course run that have a name, in order."""
    return list(session.connection().scalars(_SECTIONS, {"run_id": run_id}))


def _select_totals(
    run_id: str, assignment: str, selection: Selection, *columns: Any
) -> Select[Any]:
    statement = (
        select(*columns)
        .select_from(TotalRow.__table__)
        .join(EnrolmentRow.__table__, _ENROLMENTS.id == _TOTALS.enrolment_id)
        .where(_TOTALS.run_id == run_id, _TOTALS.assignment == assignment)
    )
    if selection.text:
        statement = statement.join(PersonRow.__table__, _PEOPLE.id == _ENROLMENTS.person_id)
    return statement.where(*_build_conditions(assignment, selection))


def count_totals(
    session: Session, *, run_id: str, assignment: str, selection: Selection, step: Decimal
) -> dict[int, int]:
    """How many chosen students have totals in each step: 0 is from nothing to below one step."""
    place = (type_coerce(_TOTALS.points, Integer) // int(step * 100)).label("place")
    statement = _select_totals(run_id, assignment, selection, place, func.count()).group_by("place")
    return {row[0]: row[1] for row in session.connection().execute(statement)}


def find_totals_by_rank(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    selection: Selection,
    places: Iterable[int],
) -> dict[int, Decimal]:
    """The totals of chosen students at some places, counted from 0 at the lowest."""
    rank = func.row_number().over(order_by=(_TOTALS.points, _TOTALS.enrolment_id)).label("rank")
    ranked = _select_totals(run_id, assignment, selection, _TOTALS.points, rank).subquery()
    statement = select(ranked.c.rank, ranked.c.points).where(
        ranked.c.rank.in_([each + 1 for each in places])
    )
    return {row[0] - 1: row[1] for row in session.connection().execute(statement)}
