"""Values of a rubric file, told in words."""

from __future__ import annotations

from typing import Any

MOST_SHOWN = 40


def kind_of(value: Any) -> str:
    """What a value is, in words that follow *but it is*."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def shown(value: Any) -> str:
    """The value itself, quoted if it is text; a long text is not repeated."""
    if isinstance(value, str):
        return repr(value) if len(value) <= MOST_SHOWN else "a longer text"
    return kind_of(value).removeprefix("the number ")
