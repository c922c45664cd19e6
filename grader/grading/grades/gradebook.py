"""The gradebook of an assignment: students × questions, totals, and the grade by its scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from grader.domain.grades import ZERO
from grader.errors import ErrorDetail, MalformedRequest
from grader.grading.context import GradingContext, PublishedAssignment
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, get_member
from grader.store.queries.decisions import OverrideLine, list_overrides
from grader.store.queries.gradebook import (
    BY_LOGIN,
    EVERYBODY,
    CellLine,
    PageCursor,
    Selection,
    SortColumn,
    SortOrder,
    list_cells,
    list_page,
)
from grader.store.queries.people import find_names
from grader.store.queries.publications import ExtensionLine, find_extensions
from grader.store.types import to_points


@dataclass(frozen=True, slots=True)
class GradebookRow:
    """One student: grades by question, those that are there."""

    member: MemberLine
    grades: dict[str, CellLine]

    @property
    def points(self) -> Decimal:
        """All points so far."""
        return to_points(sum(each.hundredths or 0 for each in self.grades.values()))

    @property
    def pending(self) -> Decimal:
        """What still waits for a person."""
        return to_points(sum(each.pending_hundredths for each in self.grades.values()))


@dataclass(frozen=True, slots=True)
class Gradebook:
    """Students in an order, and where the pages before and after these begin."""

    published: PublishedAssignment
    rows: tuple[GradebookRow, ...]
    before: PageCursor | None = None
    after: PageCursor | None = None

    @property
    def possible(self) -> Decimal:
        """All points that can be had."""
        rubrics = self.published.assignment.rubrics.values()
        return sum((each.form.points for each in rubrics), ZERO)

    def grade_of(self, row: GradebookRow) -> str:
        """The grade by the assignment's scale; empty where it has none."""
        return self.published.form.grade_for(row.points)


def load_gradebook(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    selection: Selection = EVERYBODY,
    order: SortOrder = BY_LOGIN,
    spot: PageCursor | None = None,
    limit: int | None = None,
) -> Gradebook:
    """The gradebook of the students who are chosen, or so much of it from a place on.

    Raises
    ------
    MalformedRequest
        Where the order is by a question that the assignment does not have.
    """
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    if order.column is SortColumn.QUESTION and order.question not in published.form.questions:
        raise _make_order_error(order.question)
    page = list_page(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        order=order,
        start=spot,
        limit=limit,
    )
    by_student: dict[str, dict[str, CellLine]] = {each.enrolment.id: {} for each in page.members}
    for cell in list_cells(session, assignment=assignment, enrolment_ids=list(by_student)):
        by_student[cell.enrolment_id][cell.question] = cell
    rows = tuple(GradebookRow(each, by_student[each.enrolment.id]) for each in page.members)
    return Gradebook(published, rows, page.before, page.after)


def read_order(text: str) -> SortOrder:
    """An order as addresses have it: login, total or question:ID, with a minus for the reverse.

    Raises
    ------
    MalformedRequest
        For anything else.
    """
    name = text.removeprefix("-")
    is_descending = name != text
    if name in (SortColumn.LOGIN, SortColumn.TOTAL):
        return SortOrder(SortColumn(name), is_descending=is_descending)
    column, _, question = name.partition(":")
    if column != SortColumn.QUESTION or not question:
        raise _make_order_error(text)
    return SortOrder(SortColumn.QUESTION, question, is_descending)


def write_order(order: SortOrder) -> str:
    """An order as addresses have it."""
    name = f"question:{order.question}" if order.question else order.column.value
    return f"-{name}" if order.is_descending else name


def _make_order_error(text: str) -> MalformedRequest:
    fault = ErrorDetail(
        "#query/sort",
        "value.choice",
        f"There is no order by {text!r}. There are login, total and question:ID, each also with a "
        "minus before it.",
    )
    return MalformedRequest(fault.detail, code=fault.code, faults=(fault,))


@dataclass(frozen=True, slots=True)
class StudentSummary:
    """A student's row of the gradebook with what lies behind it, the newest decision first.

    `names` has those of the people who decided; whoever is not in it was a program.
    """

    book: Gradebook
    row: GradebookRow
    extension: ExtensionLine | None
    overrides: tuple[OverrideLine, ...]
    names: Mapping[str, str]


def load_student_summary(
    session: Session, context: GradingContext, *, run_id: str, assignment: str, student: str
) -> StudentSummary:
    """All about a student's grades for an assignment.

    Raises
    ------
    NotFound
        Where there is no such assignment or no such student in the course run.
    """
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    member = get_member(session, run_id=run_id, login=student)
    owner = member.enrolment.id
    cells = list_cells(session, assignment=assignment, enrolment_ids=[owner])
    row = GradebookRow(member, {each.question: each for each in cells})
    parts = [(owner, assignment, question) for question in {*published.form.questions, *row.grades}]
    overrides = sorted(
        list_overrides(session, student_questions=parts), key=lambda each: each.at, reverse=True
    )
    extension = find_extensions(session, pairs=[(owner, assignment)]).get((owner, assignment))
    deciders = {each.by for each in overrides} | ({extension.by} if extension else set())
    return StudentSummary(
        Gradebook(published, (row,)),
        row,
        extension,
        tuple(overrides),
        find_names(session, person_ids=deciders),
    )
