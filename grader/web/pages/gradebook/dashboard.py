"""The grade dashboard: the gradebook, the distribution of totals, and one student's summary."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from urllib.parse import quote

from fastapi import APIRouter, Response
from markupsafe import Markup, escape

from grader.domain.roles import Role
from grader.drawing.charts import Bar, ReferenceLine, draw_bar_chart
from grader.errors import ErrorDetail, MalformedRequest
from grader.grading.grades.gradebook import (
    Gradebook,
    GradebookRow,
    TotalsDistribution,
    load_distribution,
    load_gradebook,
    load_student_summary,
    read_order,
    write_order,
)
from grader.store.queries.gradebook import (
    BY_LOGIN,
    EVERYBODY,
    PageCursor,
    Selection,
    SelectionState,
    SortColumn,
    SortOrder,
    list_named_sections,
)
from grader.store.types import to_points
from grader.web.auth import COURSEWORK_COST
from grader.web.gradebook_query import (
    SectionQuery,
    SortQuery,
    TextQuery,
    format_cursor,
    format_query,
    parse_cursor,
)
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage
from grader.web.pages.format import format_points
from grader.web.pages.rendering import PageRoute, render_fragment
from grader.web.pagination import Cursor
from grader.web.params import StudentLogin

router = APIRouter(route_class=PageRoute, include_in_schema=False)

#: Students per page.
PAGE_SIZE = 50


@router.get(ASSIGNMENT_PATH + "/grades")
def show_gradebook(
    page: AssignmentPage,
    q: TextQuery = "",
    section: SectionQuery = "",
    state: str = "",
    sort: SortQuery = "login",
    cursor: Cursor = None,
) -> Response:
    """Students × questions, a page at a time; every number links to its attempts."""
    query = _read_gradebook_query(q, section, state, sort, cursor)
    with page.read(cost=COURSEWORK_COST) as session:
        membership = page.membership(session, Role.ASSISTANT)
        book = load_gradebook(
            session, page.grading, run_id=page.course, assignment=page.assignment,
            selection=query.selection, order=query.order, cursor=query.spot, limit=PAGE_SIZE,
        )  # fmt: skip
        spread = load_distribution(session, book.published, query.selection)
        sections = list_named_sections(session, run_id=page.course)
        fill = page.fill(session)
    worths = [(name, each.form.points) for name, each in book.published.assignment.rubrics.items()]
    columns = [_make_column(page.course, page.assignment, name) for name, _ in worths]
    return page.render(
        "gradebook/grades.html",
        membership=membership,
        fill=fill,
        assignment=page.assignment,
        title=book.published.form.title,
        book=book,
        worths=worths,
        rows=[_compose_row(row, columns) for row in book.rows],
        heat_level=compute_heat_level,
        possible=book.possible,
        query=query,
        links=_make_page_links(book, query),
        sections=sections,
        states=_STATES,
        spread=spread,
        histogram=_draw_histogram(spread),
    )


@router.get(ASSIGNMENT_PATH + "/students/{student}")
def show_student_summary(page: AssignmentPage, student: StudentLogin) -> Response:
    """One student's grades, extension and overrides in an assignment."""
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        summary = load_student_summary(
            session, page.grading, run_id=page.course, assignment=page.assignment, student=student
        )
    return page.render(
        "gradebook/student_summary.html",
        membership=membership,
        assignment=page.assignment,
        title=summary.book.published.form.title,
        summary=summary,
        row=summary.row,
        questions=summary.book.published.assignment.rubrics,
        possible=summary.book.possible,
        grade=summary.book.grade_of(summary.row),
    )


@dataclass(frozen=True, slots=True)
class _GradebookQuery:
    """The query of the page's URL."""

    selection: Selection
    order: SortOrder
    spot: PageCursor | None

    @property
    def sort(self) -> str:
        """The order as in the URL."""
        return write_order(self.order)

    def sorted_by(self, column: str) -> str:
        """The direction of a column, as for aria-sort; empty where another column sorts."""
        if self.sort.removeprefix("-") != column:
            return ""
        return "descending" if self.order.is_descending else "ascending"


def _read_gradebook_query(
    text: str, section: str, state: str, sort: str, cursor: str | None
) -> _GradebookQuery:
    """Read the query of a URL. Forms also send empty fields, which mean the default.

    Raises
    ------
    MalformedRequest
        For an unknown order, state or cursor.
    """
    if state and state not in set(SelectionState):
        fault = ErrorDetail("state", "value.choice", f"Unknown state {state!r}.", source="query")
        raise MalformedRequest.of(fault)
    order = read_order(sort or BY_LOGIN.column)
    selection = Selection(text.strip(), section, SelectionState(state) if state else None)
    return _GradebookQuery(selection, order, parse_cursor(cursor, order))


@dataclass(frozen=True, slots=True)
class _PageLinks:
    """The query strings of the page's links; empty where there is no such page."""

    current: str
    everybody: str
    sorting: dict[str, str]
    first: str
    before: str
    after: str


def _make_page_links(book: Gradebook, query: _GradebookQuery) -> _PageLinks:
    selection, order = query.selection, query.order

    def go(spot: PageCursor | None) -> str:
        return "" if spot is None else format_query(selection, order, cursor=format_cursor(spot))

    columns = [BY_LOGIN, SortOrder(SortColumn.TOTAL)]
    columns += [SortOrder(SortColumn.QUESTION, each) for each in book.published.form.questions]
    current = format_query(selection, order)
    return _PageLinks(
        current=current,
        everybody=format_query(EVERYBODY, order),
        sorting={
            write_order(each): format_query(selection, _next_order(each, order)) for each in columns
        },
        first=current if query.spot is not None else "",
        before=go(book.before),
        after=go(book.after),
    )


def _next_order(column: SortOrder, current: SortOrder) -> SortOrder:
    """The order after a click on a column: reversed where the column sorts already."""
    if (column.column, column.question) == (current.column, current.question):
        return SortOrder(current.column, current.question, not current.is_descending)
    # Numbers start with the highest, names with A.
    return SortOrder(column.column, column.question, column.column is not SortColumn.LOGIN)


#: The states to filter by, in neutral words.
_STATES = {
    SelectionState.WAITING: "to be graded by a person",
    SelectionState.OVERRIDDEN: "set by staff",
    SelectionState.LATE: "late",
    SelectionState.NOTHING: "nothing submitted yet",
}


def compute_heat_level(points: Decimal | None, possible: Decimal) -> int:
    """The shade of a cell: 0 for no points, 1 to 3 for each third, 4 for all points."""
    if points is None or points <= 0 or possible <= 0:
        return 0
    return 4 if points >= possible else 1 + int(3 * points / possible)


@dataclass(frozen=True, slots=True)
class _Column:
    """A question, with its name and the start of its addresses escaped."""

    name: str
    label: str
    address: str
    empty: str
    """The cell of a student without a grade."""


# The same for every page of an assignment, and to render it takes longer than a row of cells.
@lru_cache(maxsize=1_000)
def _make_column(course: str, assignment: str, name: str) -> _Column:
    start = f"/courses/{course}/assignments/{assignment}/questions/"
    return _Column(
        name,
        str(escape(name)),
        str(escape(f"{start}{name}/students/")),
        render_fragment("gradebook/cell.html", level=None, name=name),
    )


def _compose_row(row: GradebookRow, columns: list[_Column]) -> tuple[GradebookRow, Markup, Markup]:
    """A row with its login for addresses, and its cells.

    A page has thousands of cells, so that they are put together from parts that are escaped.
    """
    login = escape(quote(row.member.login, safe=""))
    grades, link = row.grades, str(login)
    cells = []
    for column in columns:
        if column.name not in grades:
            cells.append(column.empty)
            continue
        _, _, hundredths, possible, pending, _, _, late_days, is_overridden, needs_person = grades[
            column.name
        ]
        before, between, after = _split_cell(
            hundredths,
            late_days > 0,
            bool(is_overridden),
            bool(needs_person) or pending > 0,
            possible,
        )
        cells.append(f"{before}{column.label}{between}{column.address}{link}{after}")
    return row, login, Markup("".join(cells))


_MARK = "\0"


# A page has thousands of cells, but few different ones.
@lru_cache(maxsize=10_000)
def _split_cell(
    hundredths: int | None, is_late: bool, is_overridden: bool, waits: bool, possible: int
) -> tuple[str, str, str]:
    """What stands before the question's name, between it and the address, and after that."""
    points = None if hundredths is None else to_points(hundredths)
    marks = {"late": is_late, "staff": is_overridden, "waits": waits}
    text = render_fragment(
        "gradebook/cell.html",
        level=compute_heat_level(points, to_points(possible)),
        name=_MARK,
        address=_MARK,
        points=format_points(points),
        marks=[word for word, is_set in marks.items() if is_set],
    )
    before, between, after = text.split(_MARK)
    return before, between, after


def _draw_histogram(spread: TotalsDistribution) -> Markup:
    """The histogram of totals, with median and quartiles; empty without totals."""
    if spread.quartiles is None:
        return Markup("")
    quartiles = spread.quartiles

    def place(points: Decimal) -> float:
        return float(points / spread.max_total * len(spread.bins))

    median = format_points(quartiles.median)
    drawn = draw_bar_chart(
        [Bar(format_points(each.low), each.count) for each in spread.bins],
        name="totals",
        title="Distribution of totals",
        summary=(
            f"{spread.n} students have a total. The median is {median} points; the middle half has "
            f"from {format_points(quartiles.lower)} to {format_points(quartiles.upper)}."
        ),
        below="points (lower bound of each bar)",
        mark=ReferenceLine(f"median {median}", place(quartiles.median)),
        band=(place(quartiles.lower), place(quartiles.upper)),
    )
    # The drawing contains only numbers and fixed text.
    return Markup(drawn)
