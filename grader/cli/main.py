"""The `grader` program: its commands, imported when they are called."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from grader import __version__
from grader.cli.console import Command, make_typer

#: The commands in the order of the help, each with its summary. A command has a module of its name
#: with EXAMPLES and either a Typer called `app` or a function of that name.
COMMANDS = {
    "show": "Show a question as a student sees it: the prompt, the given arrays, how to answer.",
    "grade": "Judge an answer offline and say what is right, what is off, and by how much.",
    "replay": "Judge an attempt again from its bundle, without the service, and compare results.",
    "check": "Validate rubrics and run their examples on many variants.",
    "schema": "Print the JSON Schema of a question's file, for completion and checks in an editor.",
    "serve": "Serve the API and the pages, after bringing the database up to date.",
    "user": "Manage accounts: add, list, change and close them, and create sign-in links.",
    "course": "Manage course runs and their members.",
    "token": "Manage API tokens: add, list and revoke them.",
    "publish": "Publish an assignment in a course run, if the examples of its rubrics pass.",
    "regrade": "Judge stored answers again after a rubric has changed: preview, apply, undo.",
    "worker": "Work on durable jobs, such as regrades, beside the service.",
    "export": "Export the grades of an assignment: points per question, total and grade.",
    "verify": "Check the stored records: attempts, judgements, grades and the audit chain.",
    "secrets": "Manage the keys that seal secrets in the database and sign receipts.",
    "migrate": "Upgrade the database to the newest revision, or downgrade it.",
    "settings": "List all GRADER_* variables with their meaning and current value.",
}


class LazyGroup(TyperGroup):
    """The program; a command is imported when it is called."""

    _is_formatting_help = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None if there is none of this name."""
        if self._is_formatting_help:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the program from the summaries, without importing the commands."""
        self._is_formatting_help = True
        super().format_help(ctx, formatter)
        self._is_formatting_help = False


@contextmanager
def _pausing_collector() -> Iterator[None]:
    """Import without looking for garbage, which takes a seventh longer; modules stay to the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@cache
def load_command(name: str) -> Any:
    """Import a command."""
    with _pausing_collector():
        module = import_module(f"grader.cli.commands.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = make_typer()
        app.command(name, cls=Command)(getattr(module, name))
    command = typer.main.get_command(app)
    command.name, command.help, command.epilog = name, COMMANDS[name], module.EXAMPLES
    return command


_QUICK_START = """\
[bold]Getting started[/]
  grader show                              all assignments
  grader show single-head-attention/1c     a question, as a student sees it
  grader grade single-head-attention/1c answer.json
  grader check my-rubrics                  check your own rubrics
  grader course add attention-2026 --course attention --title Attention

[bold]Exit codes[/]
  0  success: an answer was judged, whatever its score
  1  a check failed: a rubric is not sound, a bundle or the store differs, a migration is pending
  2  wrong usage, or a file is missing
  3  the answer cannot be read
  4  a rubric file has errors
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


def _print_version(is_requested: bool) -> None:
    if is_requested:
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
        typer.Option("--traceback", metavar="", help="Show the traceback of an internal error."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program."""
    # Many small products are faster on one thread; NumPy reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show Greek letters gets question marks.
            stream.reconfigure(errors="replace")
    app(prog_name="grader")
