"""The tables of docs/reference/command-line.md, made from the command itself."""

from __future__ import annotations

import re
from typing import Any

import typer

from grader.cli.main import app

HEADING = "| argument or option | by default | means |\n| --- | --- | --- |\n"
CODES = "| code | means |\n| --- | --- |\n"


def list_commands() -> dict[str, Any]:
    """Every command by what one types, the program itself first."""
    program = typer.main.get_command(app)
    commands: dict[str, Any] = getattr(program, "commands")  # noqa: B009 - typer hides the type
    return {"grader": program, **{f"grader {name}": each for name, each in commands.items()}}


def with_tables(page: str) -> str:
    """The page with the help and the table of every command made anew."""
    for name, command in list_commands().items():
        heading = f"## `{name}`\n\n"
        pattern = rf"^{re.escape(heading)}(?:.*\n\n)?{re.escape(HEADING)}(?:\|.*\n)*"
        summary = command.help.partition("\n\n")[0]
        made = f"{heading}{summary}\n\n{HEADING}{_rows(command)}"
        page = _replaced(pattern, made, page)
    return _replaced(rf"^{re.escape(CODES)}(?:\|.*\n)*", CODES + _exit_codes(), page)


def _replaced(pattern: str, made: str, page: str) -> str:
    return re.sub(pattern, lambda _: made, page, flags=re.MULTILINE)


def _exit_codes() -> str:
    """The rows for the exit codes that the help lists at its end."""
    listed = re.findall(r"^  (\d)  (.*)$", app.info.epilog or "", re.MULTILINE)
    return "".join(f"| {code} | {meaning} |\n" for code, meaning in listed)


def _rows(command: Any) -> str:
    return "".join(
        f"| `{_name(each)}` | {_default(each)} | {each.help} |\n"
        for each in command.params
        if not each.hidden
    )


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return names
    return f"{names} {parameter.metavar or 'N'}"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "**required**"
    if parameter.secondary_opts:
        return f"`{parameter.opts[0]}`"
    if parameter.default in (None, False):
        return ""
    return f"`{parameter.default}`"
