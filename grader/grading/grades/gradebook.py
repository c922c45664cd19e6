"""The gradebook of an assignment: students × questions, totals, their distribution, one student."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from grader.domain.grades import ZERO
from grader.domain.policies import normalize_points
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
    count_selected,
    count_totals,
    find_totals_by_rank,
    list_cells,
    list_page,
)
from grader.store.queries.people import find_names
from grader.store.queries.publications import ExtensionLine, find_extensions
from grader.store.types import to_points


@dataclass(frozen=True, slots=True)
class GradebookRow:
    """A student with the grades there are, by question."""

    member: MemberLine
    grades: dict[str, CellLine]

    @property
    def points(self) -> Decimal:
        """All points so far."""
        return to_points(sum(each.hundredths or 0 for each in self.grades.values()))

    @property
    def pending(self) -> Decimal:
        """Points still to be given by a person."""
        return to_points(sum(each.pending_hundredths for each in self.grades.values()))


@dataclass(frozen=True, slots=True)
class Gradebook:
    """A page of students in some order, with cursors to the pages before and after it."""

    published: PublishedAssignment
    rows: tuple[GradebookRow, ...]
    before: PageCursor | None = None
    after: PageCursor | None = None

    @property
    def possible(self) -> Decimal:
        """All points that can be earned."""
        rubrics = self.published.assignment.rubrics.values()
        return sum((each.form.points for each in rubrics), ZERO)

    def grade_of(self, row: GradebookRow) -> str:
        """The grade by the assignment's scale; empty if it has no scale."""
        return self.published.form.grade_for(row.points)


def load_gradebook(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    selection: Selection = EVERYBODY,
    order: SortOrder = BY_LOGIN,
    cursor: PageCursor | None = None,
    limit: int | None = None,
) -> Gradebook:
    """The gradebook of the selected students, or the page of it that begins at `cursor`.

    Raises
    ------
    MalformedRequest
        If the order is by a question that the assignment does not have.
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
        start=cursor,
        limit=limit,
    )
    by_student: dict[str, dict[str, CellLine]] = {each.enrolment.id: {} for each in page.members}
    for cell in list_cells(session, assignment=assignment, enrolment_ids=list(by_student)):
        by_student[cell.enrolment_id][cell.question] = cell
    rows = tuple(GradebookRow(each, by_student[each.enrolment.id]) for each in page.members)
    return Gradebook(published, rows, page.before, page.after)


def read_order(text: str) -> SortOrder:
    """Read an order from a URL: login, total or question:ID, with a minus for descending.

    Raises
    ------
    MalformedRequest
        For any other text.
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
    """An order as URLs have it."""
    name = f"question:{order.question}" if order.question else order.column.value
    return f"-{name}" if order.is_descending else name


def _make_order_error(text: str) -> MalformedRequest:
    detail = (
        f"Cannot sort by {text!r}. Sort by login, total or question:ID; a minus before it sorts "
        "in descending order."
    )
    return MalformedRequest.of(ErrorDetail("sort", "value.choice", detail, source="query"))


@dataclass(frozen=True, slots=True)
class StudentSummary:
    """A student's row of the gradebook with the decisions behind it, the newest first.

    `names` are those of the people who decided; a decision without a name is by a service.
    """

    book: Gradebook
    row: GradebookRow
    extension: ExtensionLine | None
    overrides: tuple[OverrideLine, ...]
    names: Mapping[str, str]


def load_student_summary(
    session: Session, context: GradingContext, *, run_id: str, assignment: str, student: str
) -> StudentSummary:
    """A student's grades for an assignment; NotFound for an unknown assignment or student."""
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    member = get_member(session, run_id=run_id, login=student)
    owner = member.enrolment.id
    cells = list_cells(session, assignment=assignment, enrolment_ids=[owner])
    row = GradebookRow(member, {each.question: each for each in cells})
    keys = [(owner, assignment, question) for question in {*published.form.questions, *row.grades}]
    overrides = sorted(
        list_overrides(session, student_questions=keys), key=lambda each: each.at, reverse=True
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


_MAX_BINS = 16
_ROUND_NUMBERS = (1, 2, 5)
_QUARTERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """How many totals are from `low` to below `high`; the last bin also has those above it."""

    low: Decimal
    high: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Half of the totals are from `lower` to `upper`, and half are below the median."""

    lower: Decimal
    median: Decimal
    upper: Decimal


@dataclass(frozen=True, slots=True)
class TotalsDistribution:
    """The totals of `n` students; of those who were `selected`, the others have none yet."""

    selected: int
    n: int
    bins: tuple[HistogramBin, ...]
    quartiles: Quartiles | None

    @property
    def max_total(self) -> Decimal:
        """The end of the last bin."""
        return self.bins[-1].high


def load_distribution(
    session: Session, published: PublishedAssignment, selection: Selection
) -> TotalsDistribution:
    """The distribution of the selected students' totals."""
    run_id, assignment = published.line.run_id, published.line.assignment
    possible = sum((each.form.points for each in published.assignment.rubrics.values()), Decimal(0))
    width, count = _choose_bins(possible)
    # Totals above all possible points belong to the last bin.
    counts = [0] * count
    for step, students in count_totals(
        session, run_id=run_id, assignment=assignment, selection=selection, step=width
    ).items():
        counts[min(step, count - 1)] += students
    n = sum(counts)
    totals = find_totals_by_rank(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        ranks=sorted({rank for share in _QUARTERS if n for rank in _nearest_ranks(n, share)}),
    )
    return TotalsDistribution(
        selected=count_selected(session, run_id=run_id, assignment=assignment, selection=selection),
        n=n,
        bins=tuple(
            HistogramBin(width * place, width * (place + 1), students)
            for place, students in enumerate(counts)
        ),
        quartiles=Quartiles(*(_quantile(totals, n, share) for share in _QUARTERS)) if n else None,
    )


def _choose_bins(possible: Decimal) -> tuple[Decimal, int]:
    """The width of a bin, a round number, and how many bins cover all points."""
    possible = max(possible, Decimal(1))
    widths = (Decimal(step) * 10**power / 10 for power in range(9) for step in _ROUND_NUMBERS)
    width = next(each for each in widths if each * _MAX_BINS >= possible)
    return width, math.ceil(possible / width)


def _nearest_ranks(n: int, share: int) -> tuple[int, int]:
    """The two ranks that a quartile lies between; equal if it lies at a rank."""
    whole, rest = divmod((n - 1) * share, 4)
    return whole, whole + (1 if rest else 0)


def _quantile(totals: dict[int, Decimal], n: int, share: int) -> Decimal:
    """A quartile, interpolated between the two nearest totals."""
    low, high = (totals[rank] for rank in _nearest_ranks(n, share))
    return normalize_points(low + (high - low) * (((n - 1) * share) % 4) / 4)
