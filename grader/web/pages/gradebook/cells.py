"""What the grade dashboard is made of: the cells of its table, and the histogram of totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from urllib.parse import quote

from markupsafe import Markup, escape

from grader.drawing.bars import Column, Mark, draw_columns
from grader.grading.grades.distribution import Spread
from grader.grading.grades.gradebook import Gradebook, Row
from grader.store.queries.gradebook import CellLine
from grader.store.queries.selections import State
from grader.store.types import as_points
from grader.web.pages.format import say_points
from grader.web.pages.gradebook.links import Asked, Ways

#: What students may be chosen by, in words that accuse nobody.
STATES = {
    State.WAITING: "waits for a person",
    State.OVERRIDDEN: "decided by staff",
    State.LATE: "late",
    State.NOTHING: "nothing sent yet",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A student's line as it is shown; `cells` are its table cells, question by question."""

    login: str
    name: str
    section: str
    href: str
    cells: Markup
    total: str
    level: int
    grade: str


def heat_level(points: Decimal | None, possible: Decimal) -> int:
    """The shade of a cell: 0 for nothing, then one for each third, and 4 for all points."""
    if points is None or points <= 0 or possible <= 0:
        return 0
    return 4 if points >= possible else 1 + int(3 * points / possible)


def make_lines(book: Gradebook) -> list[Line]:
    """The students of a page of the gradebook."""
    line = book.published.line
    base = f"/courses/{quote(line.run_id)}/assignments/{quote(line.assignment)}"
    columns = [
        _Column(base, question, rubric.form.points)
        for question, rubric in book.published.assignment.rubrics.items()
    ]
    possible = book.possible
    return [_make_line(book, row, base, columns, possible) for row in book.rows]


def _make_line(
    book: Gradebook, row: Row, base: str, columns: list[_Column], possible: Decimal
) -> Line:
    login = quote(row.member.login, safe="")
    points = row.points
    return Line(
        login=row.member.login,
        name=row.member.name,
        section=row.member.enrolment.section,
        href=f"{base}/students/{login}",
        # What people wrote is in addresses only, and quoted there.
        cells=Markup("".join([each.draw(row.grades, login) for each in columns])),
        total=say_points(points),
        level=heat_level(points, possible),
        grade=book.published.form.grade_for(points),
    )


def make_heads(book: Gradebook, asked: Asked, ways: Ways, *, path: str) -> Markup:
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
            f'<span class="of">of {say_points(rubric.form.points)}</span></th>'
        )
    # Names and addresses are escaped, and the rest is our own.
    return Markup("".join(heads))


_ARIA = {"ascending": ' aria-sort="ascending"', "descending": ' aria-sort="descending"', "": ""}
_ARROWS = {"ascending": "▲", "descending": "▼", "": "↕"}


class _Column:
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
        level, shown = _show(
            cell.hundredths,
            cell.pending_hundredths > 0 or cell.needs_person,
            cell.late_days > 0,
            cell.is_overridden,
            self.possible,
        )
        return f"{level}{self.middle}{login}{shown}"


# Few cells differ, and there are thousands on a page.
@lru_cache(maxsize=10_000)
def _show(
    hundredths: int | None, waits: bool, is_late: bool, is_overridden: bool, possible: Decimal
) -> tuple[str, str]:
    """The beginning of a cell and its end: its shade, its points, and words for the rest."""
    points = None if hundredths is None else as_points(hundredths)
    words = {"late": is_late, "staff": is_overridden, "waits": waits}
    marks = "".join(f"<i>{word}</i>" for word, is_so in words.items() if is_so)
    return (
        f'<td class="h{heat_level(points, possible)}',
        f'">{say_points(points)}</a>{marks}</td>',
    )


def draw_histogram(spread: Spread) -> Markup:
    """How totals are spread, with the median and the middle half; empty where there are none."""
    if spread.quartiles is None:
        return Markup("")
    quartiles = spread.quartiles

    def place(points: Decimal) -> float:
        return float(points / spread.most * len(spread.steps))

    median = say_points(quartiles.median)
    drawn = draw_columns(
        [Column(say_points(step.low), step.count) for step in spread.steps],
        name="totals",
        title="How totals are spread",
        summary=(
            f"{spread.n} students have a total. The median is {median} points; the middle half is "
            f"from {say_points(quartiles.lower)} to {say_points(quartiles.upper)}."
        ),
        below="points, from this number on",
        mark=Mark(f"median {median}", place(quartiles.median)),
        band=(place(quartiles.lower), place(quartiles.upper)),
    )
    # What is drawn is made of numbers and of our own words.
    return Markup(drawn)
