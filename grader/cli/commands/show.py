"""`grader show`: all assignments, an assignment, or a question as a student sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.markdown import Markdown
from rich.table import Table

from grader.cli.console import (
    DEFAULT_STUDENT,
    JsonOption,
    RubricsOption,
    StudentOption,
    console,
    describe_points,
    format_points,
    print_json,
)
from grader.cli.render.tex import render_tex, render_tex_in_markdown
from grader.cli.rubrics import get_rubric, load_rubrics
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant
from grader.feedback.examples import list_symbols, make_example
from grader.feedback.given import build_given_values
from grader.reading.fields import ArrayField, describe_field
from grader.rubric.catalog import Catalog, CompiledAssignment, Rubric

EXAMPLES = """\
[bold]Examples[/]
  grader show                                      all assignments
  grader show single-head-attention                its questions
  grader show single-head-attention/1c             one question
  grader show single-head-attention/1c --student grace
  grader show single-head-attention/1c --json > question.json
"""


def show(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="ASSIGNMENT/QUESTION",
            help="A question or an assignment; by default all assignments.",
        ),
    ] = None,
    student: StudentOption = DEFAULT_STUDENT,
    rubrics: RubricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a question as a student sees it."""
    if what is None:
        _print_assignments(load_rubrics(rubrics), as_json=as_json)
        return
    name = what.rstrip("/")
    if "/" not in name and name in (catalog := load_rubrics(rubrics)).assignments:
        _print_questions(catalog.assignments[name], as_json=as_json)
        return
    _show_question(get_rubric(what, rubrics), student, rubrics, as_json=as_json)


def _show_question(rubric: Rubric, student: str, rubrics: Path | None, *, as_json: bool) -> None:
    variant = Judge(rubric.question, DEVELOPMENT_KEYS).variant(student)
    given = build_given_values(rubric.scope, variant, rubric.form.given)
    if as_json:
        print_json(_question_as_data(rubric, student, given))
        return
    console.print(f"{rubric.id} · {describe_points(rubric.form.points)}", markup=False)
    console.print(render_tex(rubric.form.title), style="bold", markup=False)
    console.print()
    console.print(Markdown(render_tex_in_markdown(rubric.form.prompt)))
    if given:
        _print_given(rubric, variant, given)
    _print_fields(rubric)
    _print_criteria(rubric)
    _print_instructions(rubric, student, rubrics)


def _print_given(rubric: Rubric, variant: Variant, given: dict[str, Any]) -> None:
    console.print("\n[bold]Given[/] (indices start at zero; rounded, --json prints all digits)")
    numbers = [
        f"{name} = {value:.10g}" for name, value in given.items() if not isinstance(value, list)
    ]
    if numbers:
        console.print(f"  {', '.join(numbers)}", markup=False)
    for name, value in given.items():
        if not isinstance(value, list):
            continue
        array = np.asarray(value)
        console.print(
            f"  {name}  ({describe_size(array)}){_describe_columns(rubric, name)}", markup=False
        )
        names = _find_row_names(rubric, variant, name)
        for line in format_array(array, width=console.width - 4, names=names):
            console.print(f"    {line}", markup=False, no_wrap=True, overflow="crop")


def _describe_columns(rubric: Rubric, name: str) -> str:
    """Describe the names of the columns, if they have any."""
    for base, family in rubric.scope.families.items():
        if family.source == name and family.by_columns and family.numbered:
            return f", columns {base}_1 … {base}_{family.count}"
    return ""


def _find_row_names(rubric: Rubric, variant: Variant, name: str) -> dict[int, str]:
    """Return the names of the rows of a given matrix, by index."""
    names: dict[int, str] = {}
    for base, family in rubric.scope.families.items():
        if family.source != name or family.by_columns:
            continue
        if family.numbered:
            names |= {index: f"{base}_{index + 1}" for index in range(family.count)}
        for label, index in family.labels.items():
            if isinstance(index, int):
                names[index] = f"{base}_{label}"
            elif index in rubric.form.given:
                names[variant.indices[index]] = f"{base}_{label}"
    return names


def _print_fields(rubric: Rubric) -> None:
    console.print("\n[bold]Answer[/]")
    printed = ""
    for field in rubric.question.fields:
        console.print(f"  [bold]{field.name}[/]: {describe_field(field)}")
        symbols = ", ".join(list_symbols(field))
        if symbols and symbols != printed:
            console.print(f"      formulas may use {symbols}", style="dim", markup=False)
            printed = symbols
    if printed:
        console.print(
            "  Formulas may use + - * / ^, ^T, sums, functions such as norm(…), LaTeX, "
            "and your own constants: … where C = 3.",
            style="dim",
        )


def _print_criteria(rubric: Rubric) -> None:
    console.print("\n[bold]Points[/]")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for criterion in rubric.question.criteria:
        table.add_row(f"    {format_points(criterion.points)}", render_tex(criterion.title))
    console.print(table)


def _print_instructions(rubric: Rubric, student: str, rubrics: Path | None) -> None:
    """Print an example answer and the command that grades it."""
    example = json.dumps(make_example(rubric.question.fields), ensure_ascii=False)
    options = f" --student {student}" if student != DEFAULT_STUDENT else ""
    options += f" --rubrics {rubrics}" if rubrics is not None else ""
    uses = rubric.question.uses
    console.print("\n[bold]How to answer[/]")
    console.print(
        "  Write a file answer.json like this one (it is not the solution), and grade it:"
    )
    console.print(f"    {example}", markup=False, soft_wrap=True)
    if uses is not None:
        _, _, earlier = uses.question.id.partition("/")
        console.print(f"  This question uses your answer to {earlier}; --uses names its file:")
        options += " --uses earlier.json"
    console.print(f"    grader grade {rubric.id} answer.json{options}", soft_wrap=True)


def _question_as_data(rubric: Rubric, student: str, given: dict[str, Any]) -> dict[str, object]:
    return {
        "question": rubric.id,
        "title": rubric.form.title,
        "points": float(rubric.form.points),
        "prompt": rubric.form.prompt,
        "variant": student,
        "given": given,
        "answer": {
            field.name: {
                "takes": describe_field(field),
                "shape": list(field.shape.axes) if isinstance(field, ArrayField) else None,
                "symbols": list_symbols(field),
            }
            for field in rubric.question.fields
        },
        "example": make_example(rubric.question.fields),
        "criteria": [
            {"id": each.id, "title": each.title, "points": float(each.points)}
            for each in rubric.question.criteria
        ],
        "uses": rubric.question.uses.question.id if rubric.question.uses else None,
        "version": rubric.version,
    }


def _print_assignments(catalog: Catalog, *, as_json: bool) -> None:
    """Print one line per assignment."""
    if as_json:
        print_json([_assignment_as_data(each) for each in catalog.assignments.values()])
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("assignment", no_wrap=True)
    table.add_column("questions", justify="right")
    table.add_column("points", justify="right")
    table.add_column("title")
    for name, assignment in catalog.assignments.items():
        count = str(len(assignment.rubrics))
        table.add_row(name, count, format_points(_add_up_points(assignment)), assignment.form.title)
    console.print(table)
    console.print(f"\nNext: grader show {next(iter(catalog.assignments))}", markup=False)


def _print_questions(assignment: CompiledAssignment, *, as_json: bool) -> None:
    """Print an assignment, with one line per question."""
    form = assignment.form
    if as_json:
        print_json(_assignment_as_data(assignment))
        return
    console.print(f"[bold]{form.title}[/] · {format_points(_add_up_points(assignment))} points")
    if form.description:
        console.print(Markdown(render_tex_in_markdown(form.description)))
    for line in _describe_policies(assignment):
        console.print(line, markup=False)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("question", no_wrap=True)
    table.add_column("points", justify="right")
    table.add_column("title")
    for rubric in assignment.rubrics.values():
        table.add_row(rubric.id, format_points(rubric.form.points), render_tex(rubric.form.title))
    console.print(table)
    console.print(f"\nNext: grader show {next(iter(assignment.rubrics.values())).id}", markup=False)


def _describe_policies(assignment: CompiledAssignment) -> list[str]:
    form = assignment.form
    lines = []
    if form.due:
        lines.append(f"Due {form.due} ({form.time_zone}).")
    counted = {"best": "the best", "last": "the last", "first": "the first"}
    lines.append(
        f"{form.attempts.most} attempts per question; {counted[form.attempts.counted]} one counts."
    )
    if form.grades:
        scale = ", ".join(f"{grade} from {points}" for points, grade in form.grades.items())
        below = f", {form.lowest_grade} below" if form.lowest_grade else ""
        lines.append(f"Grades by points: {scale}{below}.")
    return lines


def _add_up_points(assignment: CompiledAssignment) -> Decimal:
    return sum((rubric.form.points for rubric in assignment.rubrics.values()), Decimal(0))


def _assignment_as_data(assignment: CompiledAssignment) -> dict[str, object]:
    form = assignment.form
    due = form.due_at()
    return {
        "assignment": form.id,
        "title": form.title,
        "description": form.description,
        "points": float(_add_up_points(assignment)),
        "due_at": due.isoformat() if due else None,
        "attempts": form.attempts.most,
        "questions": [
            {
                "question": rubric.id,
                "title": rubric.form.title,
                "points": float(rubric.form.points),
                "fields": [field.name for field in rubric.question.fields],
                "uses": rubric.question.uses.question.id if rubric.question.uses else None,
            }
            for rubric in assignment.rubrics.values()
        ],
    }


#: Of a longer matrix the first rows, the named rows and the last row are shown.
MAX_ROWS = 12
_FIRST_ROWS = 4
_LAST_COLUMNS = 2

Array = NDArray[Any]


def describe_size(array: Array) -> str:
    """Return the size in words: `8 × 16`, or `16 numbers`."""
    if array.ndim == 1:
        return f"{array.size} numbers"
    return " × ".join(str(axis) for axis in array.shape)


def format_array(array: Array, *, width: int, names: Mapping[int, str]) -> list[str]:
    """Write a vector or matrix, rounded, in lines of at most `width` cells.

    Parameters
    ----------
    names
        The names of rows, by index.
    """
    rows = np.atleast_2d(array)
    is_vector = array.ndim == 1
    indices = [0] if is_vector else _choose_rows(len(rows), names)
    labels = {} if is_vector else {index: _label(index, names) for index in indices}
    margin = max((len(label) for label in labels.values()), default=0)
    number_format = _choose_format(rows)
    cells = {index: [f"{entry:{number_format}}" for entry in rows[index]] for index in indices}
    size = 1 + max((len(cell) for row in cells.values() for cell in row), default=1)
    parts = _choose_columns(rows.shape[1], (width - margin - 1) // size)
    lines = []
    for before, index in pairwise([-1, *indices]):
        if index > before + 1:
            lines.append(f"{'':{margin}} ⋮")
        label = labels.get(index, "")
        for columns in parts:
            row = [cells[index][column] if column is not None else "…" for column in columns]
            lines.append(f"{label:{margin}} {''.join(f'{cell:>{size}}' for cell in row)}")
            label = ""
    return lines


def _choose_rows(count: int, names: Mapping[int, str]) -> list[int]:
    if count <= MAX_ROWS:
        return list(range(count))
    named = list(names)[: MAX_ROWS - _FIRST_ROWS - 1]
    return sorted({*range(_FIRST_ROWS), *named, count - 1})


def _label(index: int, names: Mapping[int, str]) -> str:
    return f"{index} = {names[index]}" if index in names else f"{index}"


def _choose_columns(count: int, room: int) -> list[list[int | None]]:
    """Return the columns to show on each line of a row; None stands for the columns left out."""
    if count <= room:
        return [list(range(count))]
    if count <= 2 * room:
        half = (count + 1) // 2
        return [list(range(half)), list(range(half, count))]
    first = max(room - _LAST_COLUMNS - 1, 1)
    return [[*range(first), None, *range(count - _LAST_COLUMNS, count)]]


def _choose_format(rows: Array) -> str:
    """Return the number format: six decimals, unless entries are very large or small.

    Fewer would do to look at, but they are copied, and an answer with three decimals fails.
    """
    largest = float(np.abs(rows).max(initial=0.0))
    return ".6f" if largest == 0 or 0.01 <= largest < 1e5 else ".6e"
