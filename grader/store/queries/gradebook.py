"""Pages of a gradebook: selected students in some order, read by index and no further than needed.

Students without a number to sort by come last, by login, in rising and in falling orders. So an
order has one or two segments, each read by an index of its own: one sort key over both would have
to mix two tables and two directions, and no index could serve it. A cursor is the key of a student
in one of the segments: a login, or a number with the enrolment's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
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
from grader.store.tables.decisions import GradeRow, TotalRow
from grader.store.tables.people import EnrolmentRow, PersonRow
from grader.store.types import to_points


class SelectionState(StrEnum):
    """States of students to select by."""

    WAITING = "waiting"
    OVERRIDDEN = "overridden"
    LATE = "late"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which students: by part of the name or login, by section, by state; by default all."""

    text: str = ""
    section: str = ""
    state: SelectionState | None = None

    @property
    def is_all(self) -> bool:
        """Whether all students are selected."""
        return self == EVERYBODY


EVERYBODY = Selection()

# Plain tables: the queries return columns, never objects, and statements are built faster.
_ENROLMENTS, _PEOPLE, _TOTALS = (
    EnrolmentRow.__table__.c,
    PersonRow.__table__.c,
    TotalRow.__table__.c,
)
# For subqueries: the outer statement may read the same tables.
_grade_alias, _total_alias = GradeRow.__table__.alias().c, TotalRow.__table__.alias().c


def _build_conditions(assignment: str, selection: Selection) -> list[ColumnElement[bool]]:
    """Conditions on enrolments and, if there is a text, on people; only current students."""
    conditions = [_ENROLMENTS.role == Role.STUDENT.value, _ENROLMENTS.left_at.is_(None)]
    if selection.section:
        conditions.append(_ENROLMENTS.section == selection.section)
    if selection.text:
        conditions.append(
            or_(
                _ENROLMENTS.login.icontains(selection.text, autoescape=True),
                _PEOPLE.name.icontains(selection.text, autoescape=True),
            )
        )
    if selection.state is not None:
        conditions.append(_has_state(selection.state, assignment))
    return conditions


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
    """Columns to sort students by."""

    LOGIN = "login"
    TOTAL = "total"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order of students; `question` is empty unless sorting by a question."""

    column: SortColumn = SortColumn.LOGIN
    question: str = ""
    is_descending: bool = False


BY_LOGIN = SortOrder()

#: A login, or hundredths of points with an enrolment's id.
SortKey = tuple[str] | tuple[int, str]


@dataclass(frozen=True, slots=True)
class PageCursor:
    """Where a page starts: after this key, or backwards from before it."""

    key: SortKey
    is_backwards: bool = False


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Students in order, with the cursors of the previous and the next page."""

    members: tuple[MemberLine, ...]
    before: PageCursor | None = None
    after: PageCursor | None = None


# Orders


@dataclass(frozen=True, slots=True)
class _Segment:
    """Students ordered by the columns of a unique key."""

    statement: Select[Any]
    key: tuple[Any, ...]
    is_descending: bool = False

    def select_from(self, start: SortKey | None, *, is_backwards: bool) -> Select[Any]:
        """The students after a key, or all of them, in the order of the segment or reversed."""
        is_falling = self.is_descending != is_backwards
        statement = self.statement
        if start is not None:
            types = (String(), Integer())
            values = (type_coerce(each, types[isinstance(each, int)]) for each in start)
            key, limit = tuple_(*self.key), tuple_(*values)
            statement = statement.where(key < limit if is_falling else key > limit)
        return statement.order_by(*(each.desc() if is_falling else each for each in self.key))


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


@lru_cache(maxsize=256)
def _build_segments(
    run_id: str, assignment: str, selection: Selection, order: SortOrder
) -> tuple[_Segment, ...]:
    conditions = _build_conditions(assignment, selection)
    by_login = (
        select(*_MEMBER, null().label("number"))
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(EnrolmentRow.run_id == run_id, *conditions)
    )
    if order.column is SortColumn.LOGIN:
        return (_Segment(by_login, (EnrolmentRow.login,), order.is_descending),)
    table, of_table = _choose_numbers(run_id, assignment, order)
    number = type_coerce(table.points, Integer)
    numbered = (
        select(*_MEMBER, number.label("number"))
        .select_from(table)
        # The run is a condition on the table of the numbers, so that reading starts there.
        .join(EnrolmentRow, EnrolmentRow.id == table.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(*of_table, *conditions)
    )
    has_number = exists().where(table.enrolment_id == EnrolmentRow.id, *of_table)
    return (
        _Segment(numbered, (number, table.enrolment_id), order.is_descending),
        _Segment(by_login.where(~has_number), (EnrolmentRow.login,)),
    )


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
    start: PageCursor | None = None,
    limit: int | None = None,
) -> MemberPage:
    """Students in an order, from a cursor on; without a limit, all of the rest."""
    is_backwards = start is not None and start.is_backwards
    segments = _build_segments(run_id, assignment, selection, order)
    if is_backwards:
        segments = segments[::-1]
    found = _read_segments(
        session,
        segments,
        start.key if start else None,
        is_backwards=is_backwards,
        limit=None if limit is None else limit + 1,
    )
    is_more = limit is not None and len(found) > limit
    found = found[:limit]
    if is_backwards:
        found.reverse()
    if not found:
        return MemberPage(())
    first, last = _make_key(found[0], order), _make_key(found[-1], order)
    has_before, has_after = (is_more, True) if is_backwards else (start is not None, is_more)
    return MemberPage(
        tuple(_to_member(each) for each in found),
        PageCursor(first, is_backwards=True) if has_before else None,
        PageCursor(last) if has_after else None,
    )


def _read_segments(
    session: Session,
    segments: Sequence[_Segment],
    start: SortKey | None,
    *,
    is_backwards: bool,
    limit: int | None,
) -> list[Any]:
    found: list[Any] = []
    for segment in segments:
        # The length of a key shows which segment it belongs to.
        if start is not None and len(start) != len(segment.key):
            continue
        statement = segment.select_from(start, is_backwards=is_backwards)
        start = None
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


# Cells


class CellLine(NamedTuple):
    """The part of a grade that a gradebook shows.

    A page has thousands of cells, so they are tuples, and points are whole hundredths as stored.
    """

    enrolment_id: str
    question: str
    hundredths: int | None
    possible_hundredths: int
    pending_hundredths: int
    attempts: int
    counted_attempt_id: str | None
    late_days: int
    is_overridden: bool
    needs_person: bool

    @property
    def points(self) -> Decimal | None:
        """The points; None before there are any."""
        return None if self.hundredths is None else to_points(self.hundredths)

    @property
    def possible(self) -> Decimal:
        """Out of what the points were given."""
        return to_points(self.possible_hundredths)

    @property
    def pending(self) -> Decimal:
        """The points to be graded by a person."""
        return to_points(self.pending_hundredths)

    @property
    def is_waiting(self) -> bool:
        """Whether it needs grading by a person."""
        return self.needs_person or self.pending_hundredths > 0


_GRADES = GradeRow.__table__.c
_CELL = (
    _GRADES.enrolment_id,
    _GRADES.question,
    type_coerce(_GRADES.points, Integer),
    type_coerce(_GRADES.possible, Integer),
    type_coerce(_GRADES.pending, Integer),
    _GRADES.attempts,
    _GRADES.counted_attempt_id,
    _GRADES.late_days,
    # SQLite has 0 and 1 for booleans, which serve as well; converting thousands is slow.
    type_coerce(_GRADES.is_overridden, Integer),
    type_coerce(_GRADES.needs_person, Integer),
)


def list_cells(
    session: Session, *, assignment: str, enrolment_ids: Sequence[str]
) -> Iterator[CellLine]:
    """The grades of these students for an assignment."""
    for batch in split_into_batches(enrolment_ids):
        statement = select(*_CELL).where(
            _GRADES.enrolment_id.in_(batch), _GRADES.assignment == assignment
        )
        # Straight from the driver: there are thousands of rows, and none needs conversion.
        with session.connection().execute(statement) as result:
            assert result.cursor is not None, "a select has a cursor"
            yield from map(CellLine._make, result.cursor.fetchall())


def count_selected(session: Session, *, run_id: str, assignment: str, selection: Selection) -> int:
    """Count the selected students."""
    statement = _select_count(run_id, assignment, selection)
    return session.connection().scalar(statement) or 0


# To build these statements takes as long as to run them, and the same few are asked again.
@lru_cache(maxsize=256)
def _select_count(run_id: str, assignment: str, selection: Selection) -> Select[Any]:
    statement = select(func.count()).select_from(EnrolmentRow.__table__)
    if selection.text:
        statement = statement.join(PersonRow.__table__, _PEOPLE.id == _ENROLMENTS.person_id)
    conditions = _build_conditions(assignment, selection)
    return statement.where(_ENROLMENTS.run_id == run_id, *conditions)


_SECTIONS = (
    select(_ENROLMENTS.section)
    .where(_ENROLMENTS.run_id == bindparam("run_id"), _ENROLMENTS.section > "")
    .distinct()
    .order_by(_ENROLMENTS.section)
)


def list_named_sections(session: Session, *, run_id: str) -> list[str]:
    """The non-empty sections of a course run, in order."""
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
    """A histogram of the totals of the selected students: bin 0 starts at zero points."""
    statement = _select_bins(run_id, assignment, selection, int(step * 100))
    return {row[0]: row[1] for row in session.connection().execute(statement)}


@lru_cache(maxsize=256)
def _select_bins(
    run_id: str, assignment: str, selection: Selection, hundredths: int
) -> Select[Any]:
    number = (type_coerce(_TOTALS.points, Integer) // hundredths).label("bin")
    return _select_totals(run_id, assignment, selection, number, func.count()).group_by("bin")


def find_totals_by_rank(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    selection: Selection,
    ranks: Iterable[int],
) -> dict[int, Decimal]:
    """The totals of the selected students at some ranks, where 0 is the lowest."""
    statement = _select_ranks(run_id, assignment, selection)
    parameters = {"ranks": [each + 1 for each in ranks]}
    return {row[0] - 1: row[1] for row in session.connection().execute(statement, parameters)}


@lru_cache(maxsize=256)
def _select_ranks(run_id: str, assignment: str, selection: Selection) -> Select[Any]:
    rank = func.row_number().over(order_by=(_TOTALS.points, _TOTALS.enrolment_id)).label("rank")
    ranked = _select_totals(run_id, assignment, selection, _TOTALS.points, rank).subquery()
    return select(ranked.c.rank, ranked.c.points).where(
        ranked.c.rank.in_(bindparam("ranks", expanding=True))
    )
