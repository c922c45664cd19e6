"""Where the links of the grade dashboard lead: other orders, other pages, files."""

from __future__ import annotations

from dataclasses import dataclass

from grader.errors import Fault, MalformedRequest
from grader.grading.grades.gradebook import Gradebook, read_order, write_order
from grader.store.queries.gradebook import BY_LOGIN, Column, Order, Spot
from grader.store.queries.selections import EVERYBODY, Selection, State
from grader.web.gradebook_query import read_spot, write_query, write_spot


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of the page asks for."""

    selection: Selection
    order: Order
    spot: Spot | None

    @property
    def sort(self) -> str:
        """The order as an address has it."""
        return write_order(self.order)

    def sorted_by(self, column: str) -> str:
        """The way a column is sorted, as aria-sort has it; empty where the order is another."""
        if self.sort.removeprefix("-") != column:
            return ""
        return "descending" if self.order.is_descending else "ascending"


def read_asked(text: str, section: str, state: str, sort: str, cursor: str | None) -> Asked:
    """What an address asks for; a form without scripts also sends what was left empty.

    Raises
    ------
    MalformedRequest
        For an order, a state or a cursor that there is not.
    """
    if state and state not in set(State):
        fault = Fault("#query/state", "value.choice", f"There is no state {state!r}.")
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
    order = read_order(sort or BY_LOGIN.column)
    selection = Selection(text.strip(), section, State(state) if state else None)
    return Asked(selection, order, read_spot(cursor, order))


@dataclass(frozen=True, slots=True)
class Ways:
    """What stands behind the addresses of links; empty where there is no such page."""

    here: str
    everybody: str
    sorting: dict[str, str]
    first: str
    before: str
    after: str


def make_ways(book: Gradebook, asked: Asked) -> Ways:
    """The links of a page of the gradebook."""
    selection, order = asked.selection, asked.order

    def go(spot: Spot | None) -> str:
        return "" if spot is None else write_query(selection, order, cursor=write_spot(spot))

    columns = [BY_LOGIN, Order(Column.TOTAL)]
    columns += [Order(Column.QUESTION, each) for each in book.published.form.questions]
    here = write_query(selection, order)
    return Ways(
        here=here,
        everybody=write_query(EVERYBODY, order),
        sorting={
            write_order(each): write_query(selection, _turned(each, order)) for each in columns
        },
        first=here if asked.spot is not None else "",
        before=go(book.before),
        after=go(book.after),
    )


def _turned(column: Order, now: Order) -> Order:
    """The order that a click on a column leads to: the other way round where it is sorted by it."""
    if (column.column, column.question) == (now.column, now.question):
        return Order(now.column, now.question, not now.is_descending)
    # Numbers are looked at from the top first, names from A on.
    return Order(column.column, column.question, column.column is not Column.LOGIN)
