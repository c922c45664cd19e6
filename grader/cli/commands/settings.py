"""`grader settings`: everything that can be set, and what is in force."""

from __future__ import annotations

import os

from grader.cli.console import JsonOption, print_json
from grader.cli.database import print_table, remove_password
from grader.settings import Settings, load_settings

EXAMPLES = """\
[bold]Examples[/]
  grader settings
  GRADER_PORT=9000 grader settings --json

Passwords in addresses are not shown.
"""


def settings(as_json: JsonOption = False) -> None:
    """List all GRADER_* variables with what they mean and what is in force."""
    listed = [_as_data(name, load_settings()) for name in Settings.model_fields]
    if as_json:
        print_json(listed)
        return
    rows = [
        [
            str(each["name"]),
            _format_value(each["value"]) + ("  (set)" if each["is_set"] else ""),
            str(each["description"]),
        ]
        for each in listed
    ]
    print_table(["variable", "in force", "means"], rows)


def _as_data(name: str, loaded: Settings) -> dict[str, object]:
    field = Settings.model_fields[name]
    variable = f"GRADER_{name.upper()}"
    return {
        "name": variable,
        "value": _plain(getattr(loaded, name)),
        "default": _plain(field.get_default(call_default_factory=True)),
        "is_set": any(each.upper() == variable for each in os.environ),
        "description": field.description,
    }


def _plain(value: object) -> object:
    if isinstance(value, int | float):
        return value
    return remove_password(str(value))


def _format_value(value: object) -> str:
    return str(value) if value != "" else "–"
