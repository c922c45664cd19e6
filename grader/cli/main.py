"""The `grader` command: puts the parts together and talks to people and programs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from grader import __version__
from grader.cli import bench, check, grade, schema, show
from grader.errors import AnswerRefused, KeysetError, RubricErrors

app = typer.Typer(
    name="grader",
    help="Keyset: an auto-grader for homework whose answers are vectors, matrices and formulas.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("check")(check.check)
app.command("grade")(grade.grade)
app.command("show")(show.show)
app.command("schema")(schema.schema)
app.command("bench")(bench.bench)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keyset {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; every expected error is a sentence and an exit code, never a traceback."""
    try:
        app()
    except KeysetError as error:
        _explain(error)
        sys.exit(exit_code(error))


def exit_code(error: KeysetError) -> int:
    """2 for a wrong call, 3 for an unreadable answer, 4 for a rubric that cannot be used."""
    if isinstance(error, AnswerRefused):
        return 3
    if isinstance(error, RubricErrors):
        return 4
    return 2


def _explain(error: KeysetError) -> None:
    console = Console(stderr=True, highlight=False)
    match error:
        case AnswerRefused():
            console.print("The answer cannot be read; nothing was graded.", style="bold")
            for fault in error.errors:
                console.print(f"  {fault.pointer}: {fault}", markup=False, soft_wrap=True)
        case RubricErrors():
            for mistake in error.errors:
                console.print(str(mistake), markup=False, soft_wrap=True)
        case _:
            console.print(str(error), markup=False, soft_wrap=True)
