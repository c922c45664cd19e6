"""Pydantic's errors, brought back to the data and told in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from grader.rubric.document import FieldPath
from grader.rubric.known_keys import Labels, list_known_keys
from grader.rubric.words import kind_of, shown

# The kinds of value pydantic may have asked for. A misfit of one of these kinds says that a value
# is something else altogether; all other misfits say that it is the right thing with a wrong
# content.
_KINDS = {
    "bool_type": "true or false",
    "date_type": "a date such as 2025-10-20",
    "datetime_type": "a date and time such as 2025-10-20T23:59:00",
    "decimal_parsing": "a number",
    "decimal_type": "a number",
    "dict_type": "a mapping",
    "enum": "",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_type": "a whole number",
    "list_type": "a list",
    "literal_error": "",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "empty",
    "set_type": "a list",
    "string_type": "text",
    "tuple_type": "a list",
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """One of pydantic's errors, brought back to the data.

    ``path`` is its path in the data, with the key that is missing. ``loc`` is pydantic's own path
    and ``labels`` the positions in it that are no keys but name a branch of a union. ``expected``
    is the kind of value that was asked for, or empty if the kind was right.
    """

    path: FieldPath
    loc: FieldPath
    labels: Labels
    value: Any
    message: str
    expected: str
    at_key: bool


def find_misfit(data: Any, model: type[BaseModel], error: ErrorDetails) -> Misfit:
    """One of pydantic's errors as a misfit of the data."""
    loc = error["loc"]
    is_key = loc[-1:] == ("[key]",)
    is_missing = error["type"] == "missing"
    path, labels = _locate(data, loc[:-1] if is_key or is_missing else loc, error["input"])
    expected = _expected_kind(error)
    return Misfit(
        path=(*path, *(loc[-1:] if is_missing else _discriminator(error))),
        loc=loc,
        labels=labels,
        value=error["input"],
        message=mismatch(expected, error["input"]) if expected else _message(model, error, labels),
        expected=expected,
        at_key=is_key or error["type"] == "extra_forbidden",
    )


def _locate(data: Any, loc: FieldPath, value: Any) -> tuple[FieldPath, Labels]:
    """Return the path in the data that pydantic's path means, and the positions it leaves out.

    Pydantic names the branches of unions in its path, and a branch may be called like a key. So all
    readings are followed, and the longest one that leads to the value in question is taken.
    """
    readings: dict[FieldPath, tuple[Labels, Any]] = {(): ((), data)}
    for position, part in enumerate(loc):
        readings = {
            path: ((*labels, position), here) for path, (labels, here) in readings.items()
        } | {
            (*path, part): (labels, here[part])
            for path, (labels, here) in readings.items()
            if _has(here, part)
        }
    path = max(readings, key=lambda path: (readings[path][1] == value, len(path)))
    return path, readings[path][0]


def _has(data: Any, part: str | int) -> bool:
    match data:
        case dict():
            return part in data
        case list():
            return isinstance(part, int) and part < len(data)
        case _:
            return False


def _discriminator(error: ErrorDetails) -> tuple[str, ...]:
    """Return the key that tells the branches of a union apart, if the error is about that key."""
    if not error["type"].startswith("union_tag"):
        return ()
    found = re.fullmatch(r"'([^']+)'", error["ctx"]["discriminator"])
    return (found[1],) if found else ()


def _expected_kind(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind not in _KINDS:
        return ""
    return _KINDS[kind] or error["msg"].removeprefix("Input should be ")


def mismatch(expected: str, value: Any) -> str:
    """The message for a value that is something else altogether."""
    # Where certain words are asked for, it helps to repeat the one that was given.
    got = shown(value) if "'" in expected else kind_of(value)
    return f"must be {expected}, but it is {got}"


def _message(model: type[BaseModel], error: ErrorDetails, labels: Labels) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return _unknown_key(error, list_known_keys(model, error["loc"][:-1], labels))
        case "union_tag_invalid":
            return f"must be one of {context['expected_tags']}, but it is {shown(context['tag'])}"
        case "union_tag_not_found":
            return "is missing" if _discriminator(error) else "is of no known kind"
        case "value_error" | "assertion_error":
            return str(context["error"]) or "is not acceptable"
        case kind if kind.endswith("_parsing"):
            # After the comma it says how the parser failed, which helps nobody.
            return _rephrase(error["msg"].split(",")[0], error["input"])
        case _:
            return _rephrase(error["msg"], error["input"])


def _rephrase(said: str, value: Any) -> str:
    """Return pydantic's own words as a sentence about the field: "must be greater than 0"."""
    words, found = re.subn(r"^[A-Z]\w+ should ", "must ", said.replace(" after validation", ""))
    if found and isinstance(value, int | float | str):
        return f"{words}, but it is {shown(value)}"
    return words


def _unknown_key(error: ErrorDetails, known: list[str]) -> str:
    if near := get_close_matches(str(error["loc"][-1]), known, n=1):
        return f"unknown key; did you mean {near[0]!r}?"
    return f"unknown key; known are {', '.join(known)}" if known else "unknown key"
