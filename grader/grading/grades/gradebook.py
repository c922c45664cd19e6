"""The gradebook of an assignment: students × questions, totals, and the grade by its scale."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from grader.domain.grades import ZERO
from grader.errors import Fault, MalformedRequest
from grader.grading.context import Desk, Published
from grader.store.database import Session
from grader.store.queries.courses import Member
from grader.store.queries.gradebook import (
    BY_LOGIN,
    CellLine,
    Column,
    Order,
    Spot,
    list_cells,
    list_page,
)
from grader.store.queries.selections import EVERYBODY, Selection
from grader.store.types import as_points


@dataclass(frozen=True, slots=True)
class Row:
    """One student: grades by question, those that are there."""

    member: Member
    grades: dict[str, CellLine]

    @property
    def points(self) -> Decimal:
        """All points so far."""
        return as_points(sum(each.hundredths or 0 for each in self.grades.values()))

    @property
    def pending(self) -> Decimal:
        """What still waits for a person."""
        return as_points(sum(each.pending_hundredths for each in self.grades.values()))


@dataclass(frozen=True, slots=True)
class Gradebook:
    """Students in an order, and where the pages before and after these begin."""

    published: Published
    rows: tuple[Row, ...]
    before: Spot | None = None
    after: Spot | None = None

    @property
    def possible(self) -> Decimal:
        """All points that can be had."""
        rubrics = self.published.assignment.rubrics.values()
        return sum((each.form.points for each in rubrics), ZERO)

    def grade_of(self, row: Row) -> str:
        """The grade by the assignment's scale; empty where it has none."""
        return self.published.form.grade_for(row.points)


def load_gradebook(
    session: Session,
    desk: Desk,
    *,
    run_id: str,
    assignment: str,
    selection: Selection = EVERYBODY,
    order: Order = BY_LOGIN,
    spot: Spot | None = None,
    limit: int | None = None,
) -> Gradebook:
    """The gradebook of the students who are chosen, or so much of it from a place on.

    Raises
    ------
    MalformedRequest
        Where the order is by a question that the assignment does not have.
    """
    published = desk.in_force(session, run_id=run_id, assignment=assignment)
    if order.column is Column.QUESTION and order.question not in published.form.questions:
        raise _unknown(order.question)
    page = list_page(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        order=order,
        spot=spot,
        limit=limit,
    )
    by_student: dict[str, dict[str, CellLine]] = {each.enrolment.id: {} for each in page.members}
    for cell in list_cells(session, assignment=assignment, enrolment_ids=list(by_student)):
        by_student[cell.enrolment_id][cell.question] = cell
    rows = tuple(Row(each, by_student[each.enrolment.id]) for each in page.members)
    return Gradebook(published, rows, page.before, page.after)


def read_order(text: str) -> Order:
    """An order as addresses have it: login, total or question:ID, with a minus for the reverse.

    Raises
    ------
    MalformedRequest
        For anything else.
    """
    name = text.removeprefix("-")
    is_descending = name != text
    if name in (Column.LOGIN, Column.TOTAL):
        return Order(Column(name), is_descending=is_descending)
    column, _, question = name.partition(":")
    if column != Column.QUESTION or not question:
        raise _unknown(text)
    return Order(Column.QUESTION, question, is_descending)


def write_order(order: Order) -> str:
    """An order as addresses have it."""
    name = f"question:{order.question}" if order.question else order.column.value
    return f"-{name}" if order.is_descending else name


def _unknown(text: str) -> MalformedRequest:
    fault = Fault(
        "#query/sort",
        "value.choice",
        f"There is no order by {text!r}. There are login, total and question:ID, each also with a "
        "minus before it.",
    )
    return MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
