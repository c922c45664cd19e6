"""Pydantic's errors in plain words: one table for rubric files, requests and bundles.

``locate_errors`` says which value is wrong, as a path into the data, and what it must be instead.
How a path is shown (a line of a file, a JSON pointer) is up to the caller. Pydantic itself is not
imported: its errors are plain mappings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import product
from typing import Any

from grader.errors import FieldPath


@dataclass(frozen=True, slots=True)
class Notation:
    """What a file format calls its values, and whether a message may repeat a value."""

    mapping: str
    empty: str
    repeats_values: bool


YAML = Notation("a mapping", "empty", repeats_values=True)
#: What comes over the network may be anything, so it is never repeated.
JSON = Notation("an object", "null", repeats_values=False)

_MAX_QUOTED = 40
_DATE = "a date such as 2026-11-16"
_TIME = "a time such as 2026-11-16T23:59:00+01:00"

# What a value must be where it is of another kind altogether, by pydantic's name of the error.
_TYPES = {
    "bool_type": "true or false",
    "bytes_type": "text",
    "date_type": _DATE,
    "datetime_type": _TIME,
    "decimal_type": "a number",
    "dict_type": "{mapping}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "{mapping}",
    "model_attributes_type": "{mapping}",
    "model_type": "{mapping}",
    "none_required": "{empty}",
    "set_type": "a list",
    "string_type": "text",
    "tuple_type": "a list",
    "uuid_type": "a UUID",
}
_FORMATS = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "decimal_parsing": "a number",
    "bool_parsing": "true or false",
    "date_from_datetime_inexact": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_parsing": _DATE,
    "datetime_from_date_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "datetime_parsing": _TIME,
    "int_parsing_size": "a whole number of at most nineteen digits",
    "string_pattern_mismatch": "of the form {pattern}",
    "timezone_aware": "a time with its offset from UTC",
    "url_parsing": "an address such as https://example.org/",
    "uuid_parsing": "a UUID",
}
_RANGES = {
    "decimal_max_digits": "a number of at most {max_digits} digits",
    "decimal_max_places": "a number of at most {decimal_places} decimals",
    "decimal_whole_digits": "a number of at most {whole_digits} digits before the point",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
}
_LENGTHS = {
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
}
_CHOICES = {
    "enum": "{expected}",
    "literal_error": "{expected}",
    "union_tag_invalid": "one of {expected_tags}",
}
# Further errors of strict models that say that a value is of another kind.
_OTHER_KINDS = ("enum", "literal_error", "decimal_parsing")
_EXPECTATIONS = {
    kind: (code, words)
    for code, table in (
        ("value.type", _TYPES),
        ("value.format", _FORMATS),
        ("value.range", _RANGES),
        ("value.length", _LENGTHS),
        ("value.choice", _CHOICES),
    )
    for kind, words in table.items()
}


@dataclass(frozen=True, slots=True)
class InvalidValue:
    """One value that does not fit its model.

    Attributes
    ----------
    path
        Where the value is in the data; for a missing key, where it would be.
    code
        One of the ``value.…`` codes.
    phrase
        What is wrong, as the rest of a sentence about the value: *must be a number*.
    expected, got
        What belongs there and what is there, in words; empty where the phrase says it all.
    is_own_message
        Whether the phrase is a validator's own message, hence a sentence of its own.
    is_other_kind
        Whether the value is of another kind altogether, not just out of bounds.
    value
        The value itself.
    loc, labels
        Pydantic's path, and the positions in it that name a branch of a union.
    """

    path: FieldPath
    code: str
    phrase: str
    expected: str
    got: str
    is_own_message: bool
    is_other_kind: bool
    value: Any
    loc: FieldPath
    labels: tuple[int, ...]

    def to_sentence(self, name: str) -> str:
        """The error as a sentence about the named value."""
        phrase = self.phrase.removesuffix(".")
        return f"{name}: {phrase}." if self.is_own_message else f"{name} {phrase}."


def locate_errors(
    errors: Iterable[Mapping[str, Any]], data: Any, notation: Notation
) -> list[InvalidValue]:
    """Return what pydantic found wrong in the data, each mistake once.

    Where a value fits no branch of a union, only the branch that comes closest is reported.
    """
    found = [_locate_error(error, data, notation) for error in errors]
    unique = {(each.path, each.phrase): each for each in _keep_closest(found, notation)}
    return list(unique.values())


def _locate_error(error: Mapping[str, Any], data: Any, notation: Notation) -> InvalidValue:
    kind, loc, value = error["type"], tuple(error["loc"]), error.get("input")
    context: Mapping[str, Any] = error.get("ctx") or {}
    # A missing key is not in the data, and a bad key is reported where its value is.
    is_inside = kind == "missing" or loc[-1:] == ("[key]",)
    path, labels = _find_path(data, loc[:-1] if is_inside else loc, value)
    # The value of one key may tell the branches of a union apart; then the error is about that key.
    tag = re.fullmatch(r"'([^']+)'", context.get("discriminator", ""))
    expected = ""
    match kind:
        case "missing":
            code, phrase, path = "value.missing", "is missing", (*path, *loc[-1:])
        case "union_tag_not_found" if tag:
            code, phrase, path = "value.missing", "is missing", (*path, tag[1])
        case "union_tag_not_found":
            code, phrase = "value.invalid", "is of no known kind"
        case "extra_forbidden":
            code, phrase = "value.unknown", "is not known here"
        case "value_error" | "assertion_error":
            code, phrase = "value.invalid", str(context["error"]) or "cannot be used"
        case _ if kind in _EXPECTATIONS:
            code, words = _EXPECTATIONS[kind]
            limits = {name: _shorten_number(limit) for name, limit in context.items()}
            expected = words.format(mapping=notation.mapping, empty=notation.empty, **limits)
            expected = re.sub(r"\b1 entries$", "1 entry", expected)
            expected = re.sub(r"\b1 (character|digit|decimal)s\b", r"1 \1", expected)
            phrase = _describe_mismatch(code, expected, value, context, notation)
            path = (*path, tag[1]) if tag else path
        case _:
            code, phrase = "value.invalid", "cannot be used"
    return InvalidValue(
        path=path,
        code=code,
        phrase=phrase,
        expected=expected,
        got="" if code in ("value.missing", "value.unknown") else describe_kind(value, notation),
        is_own_message=kind in ("value_error", "assertion_error"),
        is_other_kind=code == "value.type" or kind in _OTHER_KINDS,
        value=value,
        loc=loc,
        labels=labels,
    )


def _shorten_number(limit: Any) -> Any:
    """Whole numbers without a decimal point: 0, not 0.0."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _describe_mismatch(
    code: str, expected: str, value: Any, context: Mapping[str, Any], notation: Notation
) -> str:
    if code == "value.length":
        length = context.get("actual_length")
        return f"must have {expected}" + (f", but it has {length}" if length is not None else "")
    if code == "value.type" and not ("'" in expected and notation.repeats_values):
        got = describe_kind(value, notation)
    else:
        # Where certain words or a certain form are asked for, it helps to repeat what was given.
        got = describe_value(context.get("tag", value)) if notation.repeats_values else ""
    return f"must be {expected}, but it is {got}" if got else f"must be {expected}"


def _find_path(data: Any, loc: FieldPath, value: Any) -> tuple[FieldPath, tuple[int, ...]]:
    """Return the path in the data that pydantic's path means, and the positions it leaves out.

    Pydantic's path also names branches of unions, and a branch may have the name of a key. So all
    readings are followed, and the longest one that leads to the value in question is taken.
    """
    readings: dict[FieldPath, tuple[tuple[int, ...], Any]] = {(): ((), data)}
    for position, step in enumerate(loc):
        readings = {
            path: ((*labels, position), inner) for path, (labels, inner) in readings.items()
        } | {
            (*path, step): (labels, inner[step])
            for path, (labels, inner) in readings.items()
            if _has(inner, step)
        }
    path = max(readings, key=lambda path: (readings[path][1] == value, len(path)))
    return path, readings[path][0]


def _has(data: Any, step: str | int) -> bool:
    if isinstance(data, list):
        return isinstance(step, int) and step < len(data)
    return isinstance(data, dict) and step in data


def _keep_closest(
    errors: Sequence[InvalidValue], notation: Notation, depth: int = 0
) -> list[InvalidValue]:
    """Keep, of each union, the errors of the branch that comes closest."""
    kept = [error for error in errors if len(error.labels) <= depth]
    unions: dict[FieldPath, dict[str | int, list[InvalidValue]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for error in errors:
        if len(error.labels) > depth:
            label = error.labels[depth]
            unions[error.loc[:label]][error.loc[label]].append(error)
    for loc, union in unions.items():
        branches = [_keep_closest(branch, notation, depth + 1) for branch in union.values()]
        kept += _choose_branch(branches, notation, level=len(loc) - depth)
    return kept


def _choose_branch(
    branches: list[list[InvalidValue]], notation: Notation, *, level: int
) -> list[InvalidValue]:
    """Return the errors of a union's likeliest branch; `level` is the depth of its value."""

    def is_entered(branch: list[InvalidValue]) -> bool:
        return any(len(error.path) > level or not error.is_other_kind for error in branch)

    def rank(branch: list[InvalidValue]) -> tuple[bool, int, int, float]:
        deepest = max(len(error.path) for error in branch)
        return is_entered(branch), deepest, -len(branch), _compute_similarity(branch)

    best = max(branches, key=rank)
    if is_entered(best):
        return best
    # No branch takes a value of this kind, so one sentence names them all.
    expected = " or ".join(dict.fromkeys(branch[0].expected for branch in branches))
    phrase = _describe_mismatch("value.type", expected, best[0].value, {}, notation)
    return [replace(best[0], expected=expected, phrase=phrase)]


def _compute_similarity(branch: list[InvalidValue]) -> float:
    """Return how much an unknown key resembles a missing one, from 0 to 1."""
    unknown, missing = (
        [str(error.path[-1]) for error in branch if error.code == code]
        for code in ("value.unknown", "value.missing")
    )
    pairs = product(unknown, missing)
    return max((SequenceMatcher(None, *pair).ratio() for pair in pairs), default=0.0)


def describe_kind(value: Any, notation: Notation) -> str:
    """What a value is, in words that follow *but it is*."""
    match value:
        case None:
            return notation.empty
        case bool():
            return str(value).lower() if notation.repeats_values else "true or false"
        case int() | float():
            return f"the number {value}" if notation.repeats_values else "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case dict():
            return notation.mapping
        case _:
            return ""


def describe_value(value: Any) -> str:
    """The value itself, quoted if it is text; a long text is not repeated."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_QUOTED else "a longer text"
    return describe_kind(value, YAML).removeprefix("the number ")
