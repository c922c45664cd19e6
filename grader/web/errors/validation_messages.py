"""Pydantic's errors about a request → faults with JSON pointers, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.errors import ErrorDetail, MalformedRequest

# What pydantic asked for, by its own name of the error.
_KINDS = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "bytes_type": "text",
    "date_from_datetime_inexact": "a date such as 2026-11-16",
    "date_from_datetime_parsing": "a date such as 2026-11-16",
    "date_parsing": "a date such as 2026-11-16",
    "date_type": "a date such as 2026-11-16",
    "datetime_from_date_parsing": "a time such as 2026-11-16T23:59:00+01:00",
    "datetime_object_invalid": "a time such as 2026-11-16T23:59:00+01:00",
    "datetime_parsing": "a time such as 2026-11-16T23:59:00+01:00",
    "datetime_type": "a time such as 2026-11-16T23:59:00+01:00",
    "decimal_parsing": "a decimal number",
    "decimal_type": "a decimal number",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of at most nineteen digits",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "an object",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "none_required": "null",
    "set_type": "a list",
    "string_type": "text",
    "timezone_aware": "a time with its offset from UTC",
    "tuple_type": "a list",
    "url_parsing": "an address such as https://example.org/",
    "uuid_parsing": "a UUID",
    "uuid_type": "a UUID",
}
_FORMATS = ("_parsing", "_parsing_size", "_invalid", "_inexact", "timezone_aware")

_LIMITS = {
    "greater_than": ("value.range", "more than {gt}"),
    "greater_than_equal": ("value.range", "at least {ge}"),
    "less_than": ("value.range", "less than {lt}"),
    "less_than_equal": ("value.range", "at most {le}"),
    "multiple_of": ("value.range", "a multiple of {multiple_of}"),
    "decimal_max_digits": ("value.range", "a number of at most {max_digits} digits"),
    "decimal_max_places": ("value.range", "a number of at most {decimal_places} decimals"),
    "string_too_short": ("value.length", "at least {min_length} characters long"),
    "string_too_long": ("value.length", "at most {max_length} characters long"),
    "string_pattern_mismatch": ("value.format", "of the form {pattern}"),
    "too_short": ("value.length", "at least {min_length} entries long"),
    "too_long": ("value.length", "at most {max_length} entries long"),
    "enum": ("value.choice", "one of {expected}"),
    "literal_error": ("value.choice", "one of {expected}"),
    "union_tag_invalid": ("value.choice", "of a kind among {expected_tags}"),
}


@dataclass(frozen=True, slots=True)
class _Issue:
    fault: ErrorDetail
    in_union: bool


def explain_validation_errors(errors: Sequence[Any], body: object) -> MalformedRequest:
    """Return pydantic's errors as one error with every place, told without what was sent."""
    misfits = [_to_issue(error, body) for error in errors[: 4 * MalformedRequest.MOST]]
    faults = tuple(_merge(_without_shallow(misfits)))
    if len(faults) == 1:
        message = faults[0].detail
    else:
        shown = min(len(faults), MalformedRequest.MOST)
        message = f"{shown} places need a change; nothing was done."
    return MalformedRequest(message, code="request.invalid", faults=faults)


def _to_issue(error: Mapping[str, Any], body: object) -> _Issue:
    source, *loc = error.get("loc") or ("body",)
    if source == "body":
        path, in_union = _follow(loc, body, keeps_last=error["type"] == "missing")
    else:
        path, in_union = loc[:1], False
    field = tuple(_printable(str(part)) for part in path)
    code, expected = _expectation(error)
    got = "" if error["type"] in ("missing", "extra_forbidden") else _kind(error.get("input"))
    name = _name(path) or ("The body" if source == "body" else f"The {source}")
    detail = _sentence(name, error, code, expected, got)
    return _Issue(ErrorDetail(field, code, detail, expected, got, source=source), in_union)


def _follow(
    loc: Sequence[str | int], body: object, *, keeps_last: bool
) -> tuple[list[str | int], bool]:
    """Return the path in the body. Pydantic also names branches of unions, which are left out."""
    path: list[str | int] = []
    here: Any = body
    for position, part in enumerate(loc):
        if _has(here, part):
            here = here[part]
        elif not (keeps_last and position == len(loc) - 1):
            continue
        path.append(part)
    return path, len(path) < len(loc)


def _has(here: object, part: str | int) -> bool:
    if isinstance(here, dict):
        return part in here
    return isinstance(here, list) and isinstance(part, int) and part < len(here)


def _expectation(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return our code for an error of pydantic's, and what it asked for."""
    kind: str = error["type"]
    context: Mapping[str, Any] = error.get("ctx") or {}
    if kind == "missing":
        return "value.missing", ""
    if kind == "extra_forbidden":
        return "value.unknown", ""
    if kind in _KINDS:
        return ("value.format" if kind.endswith(_FORMATS) else "value.type"), _KINDS[kind]
    if kind in _LIMITS:
        code, form = _LIMITS[kind]
        return code, form.format_map({key: str(value) for key, value in context.items()})
    return "value.invalid", ""


def _sentence(name: str, error: Mapping[str, Any], code: str, expected: str, got: str) -> str:
    match code:
        case "value.missing":
            return f"{name} is missing."
        case "value.unknown":
            return f"{name} is not known here; leave it out."
        case "value.type" if got:
            return f"{name} must be {expected}, but it is {got}."
        case _ if expected:
            return f"{name} must be {expected}."
    # A validator of our own has said why, in its own sentence; anybody else's words are not shown.
    said = (error.get("ctx") or {}).get("error")
    return f"{name}: {said}" if isinstance(said, ValueError) else f"{name} cannot be taken."


def _kind(value: object) -> str:
    """What was sent, in a word and never itself: it may be anything."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return ""


def _name(path: Sequence[str | int]) -> str:
    name = ""
    for part in path:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            name += f".{_printable(part)}" if name else _printable(part)
    return name


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:60])


def _without_shallow(misfits: Sequence[_Issue]) -> list[ErrorDetail]:
    """Leave out that a union's other branch wanted another type, where one branch was entered."""
    pointers = [misfit.fault.pointer for misfit in misfits]
    return [
        misfit.fault
        for misfit in misfits
        if not misfit.in_union
        or not any(pointer.startswith(f"{misfit.fault.pointer}/") for pointer in pointers)
    ]


def _merge(faults: Sequence[ErrorDetail]) -> list[ErrorDetail]:
    """Tell the branches of a union that stand at one place as one fault."""
    merged: dict[str, ErrorDetail] = {}
    for fault in faults:
        first = merged.get(fault.pointer)
        if first is None:
            merged[fault.pointer] = fault
        elif fault.expected and first.expected and fault.expected not in first.expected:
            expected = f"{first.expected} or {fault.expected}"
            detail = first.detail.replace(first.expected, expected, 1)
            merged[fault.pointer] = replace(first, expected=expected, detail=detail)
    return list(merged.values())
