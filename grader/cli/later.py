"""Commands that are imported only when they are called.

Those that work on the database need libraries that take a while to import, and `grader show` should
not wait for them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from grader.cli.problems import Command

#: The modules of these commands, in the order of the help. A module has a Typer called `app`, or
#: the command itself by its name, with its EXAMPLES.
LATER = {
    "serve": "serve",
    "user": "user",
    "course": "course",
    "token": "token",
    "publish": "publish",
    "export": "export",
    "verify": "verify",
    "migrate": "migrate",
    "settings": "settings_list",
}


class Program(TyperGroup):
    """The program: commands that are there, then those that are imported when called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return [*super().list_commands(ctx), *LATER]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None where there is none."""
        return load_command(cmd_name) if cmd_name in LATER else super().get_command(ctx, cmd_name)


@cache
def load_command(name: str) -> Any:
    """Import a command."""
    module = import_module(f"grader.cli.{LATER[name]}")
    app = getattr(module, "app", None)
    if app is None:
        app = make_app()
        app.command(name, cls=Command, epilog=module.EXAMPLES)(getattr(module, name))
    command = typer.main.get_command(app)
    command.name = name
    return command


def make_app(**said: Any) -> typer.Typer:
    """A command or a group of them, as the program itself is set up."""
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich", **said
    )
