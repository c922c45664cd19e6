"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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
