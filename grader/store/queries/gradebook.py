"""Pages of a gradebook: some students in some order, read by indexes and no further than needed.

Those who have no number to be ordered by come after those who have one, by login. So an order has
one leg or two, each with an index of its own, and a place in it is the key of a student in one of
the legs: a login, or a number with the enrolment that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    String,
    exists,
    null,
    select,
    tuple_,
    type_coerce,
)

from grader.domain.roles import Role
from grader.store.batches import portions
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine, Member
from grader.store.queries.selections import EVERYBODY, Selection, chosen
from grader.store.tables import Enrolment, Grade, Person, Total
from grader.store.types import as_points


class Column(StrEnum):
    """What students may be ordered by."""

    LOGIN = "login"
    TOTAL = "total"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Order:
    """An order of students; `question` is empty unless it is the column."""

    column: Column = Column.LOGIN
    question: str = ""
    is_descending: bool = False


BY_LOGIN = Order()

#: A login, or hundredths of points with an enrolment's id.
Key = tuple[str] | tuple[int, str]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in an order: a page goes on after it, or backwards from before it."""

    key: Key
    is_backwards: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Some students in order, and where the pages beside this one begin."""

    members: tuple[Member, ...]
    before: Spot | None = None
    after: Spot | None = None


# Orders


@dataclass(frozen=True, slots=True)
class _Leg:
    """Students by the columns of a key, which is unique."""

    statement: Select[Any]
    key: tuple[Any, ...]
    is_descending: bool = False

    def go_on(self, spot: Spot | None, *, is_backwards: bool) -> Select[Any]:
        """The students after a place, or all of them, in the order of the leg or against it."""
        is_falling = self.is_descending != is_backwards
        statement = self.statement
        if spot is not None:
            here, there = tuple_(*self.key), tuple_(*self._values(spot.key))
            statement = statement.where(here < there if is_falling else here > there)
        return statement.order_by(*(each.desc() if is_falling else each for each in self.key))

    def _values(self, key: Key) -> list[ColumnElement[Any]]:
        kinds = (String(), Integer())
        return [type_coerce(each, kinds[isinstance(each, int)]) for each in key]


_MEMBER: tuple[Any, ...] = (
    Enrolment.id,
    Enrolment.run_id,
    Enrolment.person_id,
    Enrolment.role,
    Enrolment.section,
    Enrolment.login,
    Person.name,
    Person.email,
    Enrolment.left_at,
)


def _legs(run_id: str, assignment: str, selection: Selection, order: Order) -> list[_Leg]:
    conditions = chosen(assignment, selection)
    by_login = (
        select(*_MEMBER, null().label("number"))
        .join(Person, Person.id == Enrolment.person_id)
        .where(Enrolment.run_id == run_id, *conditions)
    )
    if order.column is Column.LOGIN:
        return [_Leg(by_login, (Enrolment.login,), order.is_descending)]
    table, of_table = _numbers(run_id, assignment, order)
    number = type_coerce(table.points, Integer)
    numbered = (
        select(*_MEMBER, number.label("number"))
        .select_from(table)
        # Which run it is says the table with the numbers, so that reading begins there.
        .join(Enrolment, Enrolment.id == table.enrolment_id)
        .join(Person, Person.id == Enrolment.person_id)
        .where(*of_table, *conditions)
    )
    there = exists().where(table.enrolment_id == Enrolment.id, *of_table)
    return [
        _Leg(numbered, (number, table.enrolment_id), order.is_descending),
        _Leg(by_login.where(~there), (Enrolment.login,)),
    ]


def _numbers(run_id: str, assignment: str, order: Order) -> tuple[Any, list[ColumnElement[bool]]]:
    if order.column is Column.TOTAL:
        return Total, [Total.run_id == run_id, Total.assignment == assignment]
    return Grade, [
        Grade.run_id == run_id,
        Grade.assignment == assignment,
        Grade.question == order.question,
        Grade.points.is_not(None),
    ]


def list_page(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    selection: Selection = EVERYBODY,
    order: Order = BY_LOGIN,
    spot: Spot | None = None,
    limit: int | None = None,
) -> Page:
    """Students in an order, from a place on; without a limit, all that are left."""
    legs = _legs(run_id, assignment, selection, order)
    found = _walk(session, legs, spot, None if limit is None else limit + 1)
    is_more = limit is not None and len(found) > limit
    found = found[:limit]
    is_backwards = spot is not None and spot.is_backwards
    if is_backwards:
        found.reverse()
    if not found:
        return Page(())
    first, last = (Spot(_key_of(each, order)) for each in (found[0], found[-1]))
    has_before, has_after = (is_more, True) if is_backwards else (spot is not None, is_more)
    return Page(
        tuple(_member(each) for each in found),
        replace(first, is_backwards=True) if has_before else None,
        last if has_after else None,
    )


def _walk(session: Session, legs: list[_Leg], spot: Spot | None, limit: int | None) -> list[Any]:
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


def _key_of(row: Any, order: Order) -> Key:
    if order.column is Column.LOGIN or row.number is None:
        return (row.login,)
    return (row.number, row.id)


def _member(row: Any) -> Member:
    enrolment = EnrolmentLine(row.id, row.run_id, row.person_id, Role(row.role), row.section)
    return Member(enrolment, row.login, row.name, row.email, row.left_at)


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
        return None if self.hundredths is None else as_points(self.hundredths)

    @property
    def pending(self) -> Decimal:
        """The points that still wait for a person."""
        return as_points(self.pending_hundredths)

    @property
    def is_waiting(self) -> bool:
        """Whether a person has still to look at it."""
        return self.needs_person or self.pending_hundredths > 0


_grades = Grade.__table__.c
_CELL = (
    _grades.enrolment_id,
    _grades.question,
    type_coerce(_grades.points, Integer),
    type_coerce(_grades.pending, Integer),
    _grades.attempts,
    _grades.counted_attempt_id,
    _grades.late_days,
    # SQLite has 0 and 1 for them, which are as good; to turn thousands of them would take long.
    type_coerce(_grades.is_overridden, Integer),
    type_coerce(_grades.needs_person, Integer),
)


def list_cells(
    session: Session, *, assignment: str, enrolment_ids: Sequence[str]
) -> Iterator[CellLine]:
    """The grades of these students for an assignment."""
    for some in portions(enrolment_ids):
        statement = select(*_CELL).where(
            _grades.enrolment_id.in_(some), _grades.assignment == assignment
        )
        # As the driver gives them: there are thousands, and none needs to be turned into anything.
        with session.connection().execute(statement) as result:
            assert result.cursor is not None, "a select has a cursor"
            yield from map(CellLine._make, result.cursor.fetchall())
