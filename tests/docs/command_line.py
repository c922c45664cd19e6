"""The tables of docs/reference/command-line.md, made from the command itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from grader.cli.main import app

HEADING = "| argument or option | by default | means |\n| --- | --- | --- |\n"
CODES = "| code | means |\n| --- | --- |\n"


def list_commands() -> dict[str, Any]:
    """Every command by what one types, the program itself first; groups stand before theirs."""
    return dict(_walk("grader", typer.main.get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    if hasattr(command, "list_commands"):
        for each in command.list_commands(None):
            yield from _walk(f"{name} {each}", command.get_command(None, each))


def with_tables(page: str) -> str:
    """The page with the help and the table of every command made anew."""
    page = _with_headings(page)
    for name, command in list_commands().items():
        heading = f"## `{name}`\n\n"
        table = rf"(?:\n{re.escape(HEADING)}(?:\|.*\n)*)?"
        pattern = rf"^{re.escape(heading)}(?:[^|#\n].*\n)?{table}"
        summary = command.help.partition("\n\n")[0]
        rows = _rows(command)
        made = f"{heading}{summary}\n" + (f"\n{HEADING}{rows}" if rows else "")
        page = _replaced(pattern, made, page)
    return _replaced(rf"^{re.escape(CODES)}(?:\|.*\n)*", CODES + _exit_codes(), page)


def _with_headings(page: str) -> str:
    """The page with a section for every command, in the order of the help."""
    following = "## Exit codes\n"
    for name in reversed(list_commands()):
        heading = f"## `{name}`\n"
        if heading not in page:
            page = page.replace(following, f"{heading}\n\n{following}")
        following = heading
    return page


def _replaced(pattern: str, made: str, page: str) -> str:
    return re.sub(pattern, lambda _: made, page, flags=re.MULTILINE)


def _exit_codes() -> str:
    """The rows for the exit codes that the help lists at its end."""
    listed = re.findall(r"^  (\d)  (.*)$", app.info.epilog or "", re.MULTILINE)
    return "".join(f"| {code} | {meaning} |\n" for code, meaning in listed)


def _rows(command: Any) -> str:
    return "".join(
        "| `{}` | {} | {} |\n".format(*map(_cell, (_name(each), _default(each), each.help)))
        for each in command.params
        if not each.hidden
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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
    if parameter.default in (None, ""):
        return ""
    if parameter.secondary_opts:
        return f"`{parameter.opts[0]}`"
    if parameter.default is False:
        return ""
    return f"`{parameter.default}`"
