"""`grader export`: the grades of an assignment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.database import RunArgument, get_run, make_grading_context, open_to_read
from grader.errors import OperatorError
from grader.grading.grades.export import to_csv_lines, to_data, to_json_lines
from grader.grading.grades.gradebook import Gradebook, load_gradebook
from grader.store.queries.publications import list_in_force

EXAMPLES = """\
[bold]Examples[/]
  grader export attention-2026 single-head-attention > grades.csv
  grader export attention-2026 single-head-attention --format json --output grades.json

One line per student: points per question, total and grade.
"""


class Format(StrEnum):
    """The format of an export."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"


def export(
    run: RunArgument,
    assignment: Annotated[
        str, typer.Argument(metavar="ASSIGNMENT", help="A published assignment.")
    ],
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, json (one list) or jsonl (one object per line).",
        ),
    ] = Format.CSV,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; by default standard output."),
    ] = None,
) -> None:
    """Export the grades of an assignment."""
    with open_to_read() as database, database.read() as session:
        get_run(session, run)
        known = [each.assignment for each in list_in_force(session, run_id=run)]
        if assignment not in known:
            hint = f"There are {', '.join(known)}." if known else "None is published yet."
            raise OperatorError(f"{run} has no assignment {assignment!r}. {hint}")
        gradebook = load_gradebook(
            session, make_grading_context(), run_id=run, assignment=assignment
        )
    lines = _write(gradebook, form)
    if output is None:
        for line in lines:
            typer.echo(line, nl=False)
    else:
        _save(output, lines)


def _write(gradebook: Gradebook, form: Format) -> Iterator[str]:
    match form:
        case Format.CSV:
            yield from to_csv_lines(gradebook)
        case Format.JSON:
            yield json.dumps([to_data(gradebook, row) for row in gradebook.rows], indent=2) + "\n"
        case Format.JSONL:
            yield from to_json_lines(gradebook)


def _save(path: Path, lines: Iterator[str]) -> None:
    try:
        # The lines already end in line breaks.
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}.") from None
