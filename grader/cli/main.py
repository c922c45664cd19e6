"""The `grader` command: puts the parts together and talks to people and programs."""

from __future__ import annotations

import io
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from grader import __version__
from grader.cli.console import Command

#: The commands in the order of the help, with what each does in a sentence. Each has a module of
#: its name, with a Typer called `app`, or the command itself by its name and its EXAMPLES.
COMMANDS = {
    "show": "Show a question as a student gets it: the prompt, the given arrays, how to answer.",
    "grade": "Judge an answer offline and say what is right, what is off, and by how much.",
    "replay": "Judge an attempt again from its bundle, without the service, and say what agrees.",
    "check": "Validate rubrics and run their examples on many variants.",
    "schema": "Print the JSON Schema of a question's file, so that an editor can complete and "
    "check it.",
    "serve": "Serve the API and the pages; brings the database up to date first.",
    "user": "Accounts of people: add, list, change and end them, and let them in.",
    "course": "Course runs: add and list them, and say who takes part.",
    "token": "Tokens for programs: add, list and revoke them.",
    "publish": "Put an assignment in force in a course run, after its examples came out right.",
    "export": "Write the grades of an assignment: students by questions, totals, grades by scale.",
    "verify": "Check that all is stored as it was acknowledged, allowed and graded.",
    "migrate": "Bring the database up to date, or take it back to an earlier revision.",
    "settings": "List all GRADER_* variables with what they mean and what is in force.",
}


class LazyGroup(TyperGroup):
    """The program, whose commands are imported when they are called."""

    _is_explaining = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None where there is none."""
        if self._is_explaining:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the program, which needs none of its commands."""
        self._is_explaining = True
        super().format_help(ctx, formatter)
        self._is_explaining = False


@cache
def load_command(name: str) -> Any:
    """Import a command."""
    module = import_module(f"grader.cli.commands.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = make_typer()
        app.command(name, cls=Command, epilog=module.EXAMPLES)(getattr(module, name))
    command = typer.main.get_command(app)
    command.name = name
    return command


def make_typer(**said: Any) -> typer.Typer:
    """A command or a group of them, as the program itself is set up."""
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich", **said
    )


_QUICK_START = """\
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
    cls=LazyGroup,
    epilog=_QUICK_START,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
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
            callback=_print_version,
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
