"""The grade dashboard: everybody's grades as a table, how totals are spread, one student's all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from markupsafe import Markup, escape

from grader.accounts.callers import get_membership_as
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
    CellLine,
    PageCursor,
    Selection,
    SelectionState,
    SortColumn,
    SortOrder,
    list_named_sections,
)
from grader.store.types import to_points
from grader.web.gradebook_query import (
    SectionQuery,
    SortQuery,
    TextQuery,
    format_cursor,
    format_query,
    parse_cursor,
)
from grader.web.pages.format import format_points
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.pagination import Cursor
from grader.web.params import AssignmentId, CourseId, StudentLogin
from grader.web.service import ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"
#: So many students are on a page.
PAGE_SIZE = 50


@router.get(_ASSIGNMENT + "/grades")
def show_gradebook(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    q: TextQuery = "",
    section: SectionQuery = "",
    state: str = "",
    sort: SortQuery = "login",
    cursor: Cursor = None,
) -> Response:
    """Students × questions, a page at a time; every number leads to the attempts behind it."""
    asked = _read_gradebook_query(q, section, state, sort, cursor)
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        book = load_gradebook(
            session, service.context, run_id=course, assignment=assignment,
            selection=asked.selection, order=asked.order, cursor=asked.spot, limit=PAGE_SIZE,
        )  # fmt: skip
        spread = load_distribution(session, book.published, asked.selection)
        sections = list_named_sections(session, run_id=course)
    ways = _make_page_links(book, asked)
    return render(
        request, "grades.html", visitor=visitor, membership=membership, assignment=assignment,
        title=book.published.form.title,
        heads=_make_column_heads(book, asked, ways, path=request.url.path),
        possible=book.possible, lines=_make_lines(book), asked=asked, ways=ways,
        sections=sections, states=_STATES, spread=spread, histogram=_draw_histogram(spread),
    )  # fmt: skip


@router.get(_ASSIGNMENT + "/students/{student}")
def show_student_summary(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    student: StudentLogin,
    visitor: VisitorDep,
    service: ServiceDep,
) -> Response:
    """All questions of one student, more time that was given, and what staff decided."""
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        summary = load_student_summary(
            session, service.context, run_id=course, assignment=assignment, student=student
        )
    return render(
        request,
        "student_summary.html",
        visitor=visitor,
        membership=membership,
        assignment=assignment,
        title=summary.book.published.form.title,
        summary=summary,
        row=summary.row,
        questions=summary.book.published.assignment.rubrics,
        possible=summary.book.possible,
        grade=summary.book.grade_of(summary.row),
    )


@dataclass(frozen=True, slots=True)
class _GradebookQuery:
    """What the address of the page asks for."""

    selection: Selection
    order: SortOrder
    spot: PageCursor | None

    @property
    def sort(self) -> str:
        """The order as an address has it."""
        return write_order(self.order)

    def sorted_by(self, column: str) -> str:
        """The way a column is sorted, as aria-sort has it; empty where the order is another."""
        if self.sort.removeprefix("-") != column:
            return ""
        return "descending" if self.order.is_descending else "ascending"


def _read_gradebook_query(
    text: str, section: str, state: str, sort: str, cursor: str | None
) -> _GradebookQuery:
    """What an address asks for; a form without scripts also sends what was left empty.

    Raises
    ------
    MalformedRequest
        For an order, a state or a cursor that there is not.
    """
    if state and state not in set(SelectionState):
        says = f"There is no state {state!r}."
        raise MalformedRequest.of(ErrorDetail("state", "value.choice", says, source="query"))
    order = read_order(sort or BY_LOGIN.column)
    selection = Selection(text.strip(), section, SelectionState(state) if state else None)
    return _GradebookQuery(selection, order, parse_cursor(cursor, order))


@dataclass(frozen=True, slots=True)
class _PageLinks:
    """What stands behind the addresses of links; empty where there is no such page."""

    here: str
    everybody: str
    sorting: dict[str, str]
    first: str
    before: str
    after: str


def _make_page_links(book: Gradebook, asked: _GradebookQuery) -> _PageLinks:
    """The links of a page of the gradebook."""
    selection, order = asked.selection, asked.order

    def go(spot: PageCursor | None) -> str:
        return "" if spot is None else format_query(selection, order, cursor=format_cursor(spot))

    columns = [BY_LOGIN, SortOrder(SortColumn.TOTAL)]
    columns += [SortOrder(SortColumn.QUESTION, each) for each in book.published.form.questions]
    here = format_query(selection, order)
    return _PageLinks(
        here=here,
        everybody=format_query(EVERYBODY, order),
        sorting={
            write_order(each): format_query(selection, _next_order(each, order)) for each in columns
        },
        first=here if asked.spot is not None else "",
        before=go(book.before),
        after=go(book.after),
    )


def _next_order(column: SortOrder, now: SortOrder) -> SortOrder:
    """The order that a click on a column leads to: the other way round where it is sorted by it."""
    if (column.column, column.question) == (now.column, now.question):
        return SortOrder(now.column, now.question, not now.is_descending)
    # Numbers are looked at from the top first, names from A on.
    return SortOrder(column.column, column.question, column.column is not SortColumn.LOGIN)


#: What students may be chosen by, in words that accuse nobody.
_STATES = {
    SelectionState.WAITING: "waits for a person",
    SelectionState.OVERRIDDEN: "decided by staff",
    SelectionState.LATE: "late",
    SelectionState.NOTHING: "nothing sent yet",
}


@dataclass(frozen=True, slots=True)
class _GradebookLine:
    """A student's line as it is shown; `cells` are its table cells, question by question."""

    login: str
    name: str
    section: str
    href: str
    cells: Markup
    total: str
    level: int
    grade: str


def compute_heat_level(points: Decimal | None, possible: Decimal) -> int:
    """The shade of a cell: 0 for nothing, then one for each third, and 4 for all points."""
    if points is None or points <= 0 or possible <= 0:
        return 0
    return 4 if points >= possible else 1 + int(3 * points / possible)


def _make_lines(book: Gradebook) -> list[_GradebookLine]:
    """The students of a page of the gradebook."""
    line = book.published.line
    base = f"/courses/{quote(line.run_id)}/assignments/{quote(line.assignment)}"
    columns = [
        _QuestionColumn(base, question, rubric.form.points)
        for question, rubric in book.published.assignment.rubrics.items()
    ]
    possible = book.possible
    return [_make_line(book, row, base, columns, possible) for row in book.rows]


def _make_line(
    book: Gradebook, row: GradebookRow, base: str, columns: list[_QuestionColumn], possible: Decimal
) -> _GradebookLine:
    login = quote(row.member.login, safe="")
    points = row.points
    return _GradebookLine(
        login=row.member.login,
        name=row.member.name,
        section=row.member.enrolment.section,
        href=f"{base}/students/{login}",
        # What people wrote is in addresses only, and quoted there.
        cells=Markup("".join([each.draw(row.grades, login) for each in columns])),
        total=format_points(points),
        level=compute_heat_level(points, possible),
        grade=book.published.form.grade_for(points),
    )


def _make_column_heads(
    book: Gradebook, asked: _GradebookQuery, ways: _PageLinks, *, path: str
) -> Markup:
    """The heads of the questions' columns: each leads to its analytics, and sorts the table."""
    line = book.published.line
    base = f"/courses/{quote(line.run_id)}/assignments/{quote(line.assignment)}"
    heads = []
    for name, rubric in book.published.assignment.rubrics.items():
        label, way = escape(name), asked.sorted_by(f"question:{name}")
        sorting = escape(path + ways.sorting[f"question:{name}"])
        heads.append(
            f'<th scope="col"{_ARIA[way]}><a href="{base}/analytics/{quote(name)}">{label}</a> '
            f'<a class="sort" href="{sorting}" aria-label="Sort by {label}">'
            f'<span aria-hidden="true">{_ARROWS[way]}</span></a>'
            f'<span class="of">of {format_points(rubric.form.points)}</span></th>'
        )
    # Names and addresses are escaped, and the rest is our own.
    return Markup("".join(heads))


_ARIA = {"ascending": ' aria-sort="ascending"', "descending": ' aria-sort="descending"', "": ""}
_ARROWS = {"ascending": "▲", "descending": "▼", "": "↕"}


class _QuestionColumn:
    """A question, which draws its cells; `login` is quoted for addresses."""

    def __init__(self, base: str, question: str, possible: Decimal) -> None:
        label = escape(question)
        self.question = question
        self.possible = possible
        self.middle = f'" data-q="{label}"><a href="{base}/questions/{quote(question)}/students/'
        self.none = f'<td class="none" data-q="{label}">–</td>'

    def draw(self, grades: Mapping[str, CellLine], login: str) -> str:
        """A student's cell."""
        cell = grades.get(self.question)
        if cell is None:
            return self.none
        level, shown = _render_cell(
            cell.hundredths,
            cell.pending_hundredths > 0 or cell.needs_person,
            cell.late_days > 0,
            cell.is_overridden,
            self.possible,
        )
        return f"{level}{self.middle}{login}{shown}"


# Few cells differ, and there are thousands on a page.
@lru_cache(maxsize=10_000)
def _render_cell(
    hundredths: int | None, waits: bool, is_late: bool, is_overridden: bool, possible: Decimal
) -> tuple[str, str]:
    """The beginning of a cell and its end: its shade, its points, and words for the rest."""
    points = None if hundredths is None else to_points(hundredths)
    words = {"late": is_late, "staff": is_overridden, "waits": waits}
    marks = "".join(f"<i>{word}</i>" for word, is_so in words.items() if is_so)
    return (
        f'<td class="h{compute_heat_level(points, possible)}',
        f'">{format_points(points)}</a>{marks}</td>',
    )


def _draw_histogram(spread: TotalsDistribution) -> Markup:
    """How totals are spread, with the median and the middle half; empty where there are none."""
    if spread.quartiles is None:
        return Markup("")
    quartiles = spread.quartiles

    def place(points: Decimal) -> float:
        return float(points / spread.max_total * len(spread.bins))

    median = format_points(quartiles.median)
    drawn = draw_bar_chart(
        [Bar(format_points(each.low), each.count) for each in spread.bins],
        name="totals",
        title="How totals are spread",
        summary=(
            f"{spread.n} students have a total. The median is {median} points; the middle half is "
            f"from {format_points(quartiles.lower)} to {format_points(quartiles.upper)}."
        ),
        below="points, from this number on",
        mark=ReferenceLine(f"median {median}", place(quartiles.median)),
        band=(place(quartiles.lower), place(quartiles.upper)),
    )
    # What is drawn is made of numbers and of our own words.
    return Markup(drawn)
