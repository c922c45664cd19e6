"""`grader settings`: all settings and their current values."""

from __future__ import annotations

import os

from grader.cli.console import JsonOption, print_json, print_table
from grader.cli.database import remove_password
from grader.settings import Settings, load_settings

EXAMPLES = """\
[bold]Examples[/]
  grader settings
  GRADER_PORT=9000 grader settings --json

Keys, and passwords in database addresses, are hidden.
"""


def settings(as_json: JsonOption = False) -> None:
    """List all GRADER_* variables with their meaning and current value."""
    listed = [_as_data(name, load_settings()) for name in Settings.model_fields]
    if as_json:
        print_json(listed)
        return
    rows = [
        [
            str(each["name"]),
            (str(each["value"]) or "–") + ("  (set)" if each["is_set"] else ""),
            str(each["description"]),
        ]
        for each in listed
    ]
    print_table(["variable", "value", "meaning"], rows)


def _as_data(name: str, loaded: Settings) -> dict[str, object]:
    field = Settings.model_fields[name]
    variable = f"GRADER_{name.upper()}"
    return {
        "name": variable,
        "value": _hide_password(getattr(loaded, name)),
        "default": _hide_password(field.get_default(call_default_factory=True)),
        "is_set": any(each.upper() == variable for each in os.environ),
        "description": field.description,
    }


def _hide_password(value: object) -> object:
    if isinstance(value, int | float):
        return value
    return remove_password(str(value))
