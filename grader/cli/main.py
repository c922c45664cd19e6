"""The `grader` command: puts the parts together and talks to people and programs."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from grader import __version__
from grader.cli.program import Program

_JOURNEY = """\
[bold]Begin here[/]
  grader show                              all assignments
  grader show single-head-attention/1c     a question, as a student gets it
  grader grade single-head-attention/1c answer.json
  grader check my-rubrics                  are your own rubrics sound?
  grader course add attention-2026 --course attention --title Attention

[bold]Exit codes[/]
  0  fine: an answer was judged, whatever it earned
  1  not as it should be: a rubric is not sound, a bundle or the store differs, a migration waits
  2  the command was called wrongly, or a file is missing
  3  the answer cannot be read
  4  a rubric file is broken
"""

app = typer.Typer(
    name="grader",
    help="Keyset: an auto-grader for homework whose answers are vectors, matrices and formulas.",
    cls=Program,
    epilog=_JOURNEY,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keyset {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            callback=_say_version,
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option("--traceback", metavar="", help="Show where a defect of Keyset itself arose."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; every error is a sentence and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows no Greek gets a question mark instead.
            stream.reconfigure(errors="replace")
    app(prog_name="grader")
