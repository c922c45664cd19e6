"""`grader show`: a question as a student gets it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from rich.markdown import Markdown
from rich.table import Table

from grader.cli.options import (
    DEFAULT_STUDENT,
    JsonOption,
    QuestionArgument,
    RubricsOption,
    StudentOption,
    console,
    load,
    print_json,
)
from grader.engine.judge import Judge
from grader.engine.streams import DEVELOPMENT_SECRET
from grader.feedback.given import given_values
from grader.reading.answer import describe_field
from grader.reading.fields import ArrayField, Field
from grader.rubric.catalog import Rubric


def show(
    question: QuestionArgument,
    student: StudentOption = DEFAULT_STUDENT,
    rubrics: RubricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a question as a student gets it: the prompt, the given arrays, how to answer."""
    rubric = load(rubrics).get_rubric(question)
    variant = Judge(rubric.question, DEVELOPMENT_SECRET).variant(student)
    given = given_values(rubric.scope, variant, rubric.form.given)
    if as_json:
        print_json(_as_data(rubric, student, given))
        return
    console.rule(f"{rubric.id} · {rubric.form.title} · {_points(rubric.form.points)}")
    console.print(Markdown(rubric.form.prompt))
    _print_given(given)
    _print_fields(rubric)
    _print_criteria(rubric)


def _points(points: Decimal) -> str:
    return f"{points:f} point{'' if points == 1 else 's'}"


def _print_given(given: dict[str, Any]) -> None:
    if not given:
        return
    console.print("\n[bold]Given[/] (indices count from zero; --json prints all digits)")
    for name, value in given.items():
        array = np.asarray(value)
        if array.ndim == 0:
            console.print(
                f"  {name} = {value:g}" if isinstance(value, float) else f"  {name} = {value}"
            )
            continue
        size = " × ".join(str(axis) for axis in array.shape)
        console.print(f"  {name}  ({size})")
        text = np.array2string(
            array, precision=3, suppress_small=True, max_line_width=100, prefix="    "
        )
        console.print("    " + text, markup=False)


def _print_fields(rubric: Rubric) -> None:
    console.print("\n[bold]Answer[/]")
    for field in rubric.question.fields:
        console.print(f"  {field.name}: {describe_field(field)}", markup=False)
        names = _symbols(field)
        if names:
            console.print(f"      a formula may use: {names}", style="dim", markup=False)
    if rubric.question.uses is not None:
        console.print(f"  This part builds on your answer to {rubric.question.uses.question.id}.")


def _symbols(field: Field) -> str:
    if not isinstance(field, ArrayField):
        return ""
    members = [name for name in field.scope.members() if not name.split("_", 1)[1].isdigit()]
    return ", ".join(dict.fromkeys([*members, *field.scope.names(), "I"]))


def _print_criteria(rubric: Rubric) -> None:
    table = Table(box=None, pad_edge=False, title="\nWhat earns points", title_justify="left")
    table.add_column("points", justify="right")
    table.add_column("for")
    for criterion in rubric.question.criteria:
        table.add_row(f"{criterion.points:f}", criterion.title)
    console.print(table)


def _as_data(rubric: Rubric, student: str, given: dict[str, Any]) -> dict[str, object]:
    return {
        "question": rubric.id,
        "title": rubric.form.title,
        "points": float(rubric.form.points),
        "prompt": rubric.form.prompt,
        "variant": student,
        "given": given,
        "answer": {
            field.name: {"takes": describe_field(field), "symbols": _symbols(field)}
            for field in rubric.question.fields
        },
        "criteria": [
            {"id": each.id, "title": each.title, "points": float(each.points)}
            for each in rubric.question.criteria
        ],
        "uses": rubric.question.uses.question.id if rubric.question.uses else None,
        "version": rubric.version,
    }
