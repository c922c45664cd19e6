"""Options and small helpers that several commands share."""

from __future__ import annotations

import difflib
import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.errors import OperatorError
from grader.rubric.catalog import (
    Catalog,
    Rubric,
    load_assignment,
    load_catalog,
    shipped_folder,
)

DEFAULT_STUDENT = "ada"


def _check_student(name: str) -> str:
    if not name or "/" in name:
        raise typer.BadParameter("A student's id is a name without slashes.")
    return name


QuestionArgument = Annotated[
    str, typer.Argument(metavar="ASSIGNMENT/QUESTION", help="Such as single-head-attention/1e.")
]
RubricsOption = Annotated[
    Path | None,
    typer.Option(
        "--rubrics", metavar="FOLDER", help="Your own rubrics instead of the shipped ones."
    ),
]
StudentOption = Annotated[
    str,
    typer.Option(
        "--student",
        metavar="ID",
        help="Whose variant: every name has its own numbers.",
        callback=_check_student,
    ),
]
# The empty metavar keeps the help from saying that a flag takes a value.
JsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON, for programs.")]

console = Console(highlight=False)

_PLAIN_LIST = re.compile(r"\[\n[^\[\]{}]*\]")


def load(rubrics: Path | None) -> Catalog:
    """The catalog of a folder, by default of the shipped rubrics."""
    return load_catalog((rubrics or shipped_folder()).resolve())


def find_rubric(wanted: str, rubrics: Path | None) -> Rubric:
    """The question called `ASSIGNMENT/QUESTION`; only its own assignment need be in order."""
    name, _, question = wanted.partition("/")
    folder = (rubrics or shipped_folder()).resolve() / name
    if name and question and (folder / "assignment.yaml").is_file():
        found = load_assignment(folder).rubrics.get(question)
        if found is not None:
            return found
    catalog = load(rubrics)
    ids = {rubric.id: rubric for rubric in catalog.rubrics()}
    if wanted in ids:
        return ids[wanted]
    if name in catalog.assignments:
        known = ", ".join(catalog.assignments[name].rubrics)
        raise OperatorError(
            f"{name} has no question {question!r}; it has {known}."
            if question
            else f"{name} is an assignment; name a question of it as well: {name}/… with {known}."
        )
    raise OperatorError(
        f"There is no question {wanted!r}.{_suggest(wanted, list(ids))} "
        "`grader show` lists what there is."
    )


def _suggest(wanted: str, ids: list[str]) -> str:
    ending = [each for each in ids if each.endswith(f"/{wanted}")]
    close = ending or difflib.get_close_matches(wanted, ids, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def show_points(points: Decimal) -> str:
    """Points as people write them: 5 rather than 5.0."""
    return f"{points.normalize():f}"


def count_points(points: Decimal) -> str:
    """Points with their unit."""
    return f"{show_points(points)} point{'' if points == 1 else 's'}"


def print_json(data: object) -> None:
    """Print data as JSON, two spaces deep, each list of plain values in a line."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(data, indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    typer.echo(_PLAIN_LIST.sub(lambda found: _in_a_line(found[0]), text))


def _in_a_line(formatted: str) -> str:
    # No text in JSON holds a line break, so that only white space between values is lost.
    return "[" + " ".join(line.strip() for line in formatted[1:-1].split("\n")).strip() + "]"
