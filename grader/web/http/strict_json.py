"""Strict JSON: one reading of every text, or a refusal with line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jiter
import orjson

from grader.errors import ErrorDetail, FieldPath, MalformedRequest

_POSITION = re.compile(r" at line (\d+) column (\d+)$")
# Numbers that may be too large for a double or for 64 bits.
_LARGE_NUMBER = re.compile(rb"[eE]\+?\d{3}|\d{19}")
_REPEATED = re.compile(r'^Detected duplicate key "(.*)"$', re.DOTALL)


class JsonObject(dict[str, Any]):
    """A decoded object that still has the text it was read from."""

    __slots__ = ("text",)

    def __init__(self, members: dict[str, Any], text: bytes) -> None:
        super().__init__(members)
        self.text = text


def read_json(text: bytes) -> Any:
    """Decode JSON; an object is returned as a `JsonObject`.

    Raises
    ------
    MalformedRequest
        For anything but one JSON value in UTF-8 with finite numbers, no key twice in an object and
        at most two hundred levels.
    """
    try:
        # No string that a student sent stays in the parser's cache.
        decoded = jiter.from_json(
            text, allow_inf_nan=False, cache_mode="none", catch_duplicate_keys=True
        )
        if _LARGE_NUMBER.search(text):
            # Only this parser refuses numbers beyond double precision.
            decoded = orjson.loads(text)
    except ValueError as error:
        raise _explain(error, text) from None
    if b"\\u0000" in text:
        _refuse_nul(decoded)
    return JsonObject(decoded, text) if isinstance(decoded, dict) else decoded


def _explain(error: ValueError, text: bytes) -> MalformedRequest:
    """Why a text was refused, in the words of the parser that explains it better."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as better:
        return _explain_syntax(better, text)
    said = str(error)
    position = _POSITION.search(said)
    at = f" near line {position[1]}, column {position[2]}" if position else ""
    repeated = _REPEATED.match(_POSITION.sub("", said))
    if repeated:
        key = "".join(c if c.isprintable() else "?" for c in repeated[1][:40])
        return MalformedRequest(
            f'The key "{key}" occurs twice in one object{at}.', code="json.repeated"
        )
    if "recursion" in said:
        return _make_depth_error(at)
    return MalformedRequest(f"This is not JSON{at}.", code="json.invalid")


def _refuse_nul(decoded: object) -> None:
    # PostgreSQL cannot keep this one character, so no route should have to think of it.
    found = next(_find_nul(decoded), None)
    if found is not None:
        says = "A text holds the character U+0000, which cannot be kept."
        fault = ErrorDetail(field=found, code="text.character", detail=says)
        raise MalformedRequest(says, code="request.invalid", faults=(fault,))


def _find_nul(value: object, path: FieldPath = ()) -> Iterator[FieldPath]:
    match value:
        case str():
            if "\0" in value:
                yield path
        case list():
            for index, each in enumerate(value):
                yield from _find_nul(each, (*path, index))
        case dict():
            for key, each in value.items():
                if "\0" in key:
                    yield path
                yield from _find_nul(each, (*path, key))


def _explain_syntax(fault: orjson.JSONDecodeError, text: bytes) -> MalformedRequest:
    at = f"line {fault.lineno}, column {fault.colno}"
    said = fault.msg
    if "depth" in said or "recursion" in said:
        return _make_depth_error(f" at {at}")
    if "infinity" in said:
        return MalformedRequest(
            f"The number at {at} is beyond double precision (1.8e308).", code="json.number"
        )
    if "BOM" in said:
        return MalformedRequest("The JSON begins with a byte order mark.", code="json.encoding")
    if "surrogate" in said:
        where = f" Look at {at}." if "low surrogate" in said or "high" in said else ""
        return MalformedRequest(f"The JSON is not valid UTF-8.{where}", code="json.encoding")
    if _is_not_finite(fault, text):
        return MalformedRequest(
            f"The value at {at} is NaN or Infinity, which JSON does not have.",
            code="json.number",
            hint="Write a finite number such as 1e6.",
        )
    return MalformedRequest(f"This is not JSON: {said}, {at}.", code="json.invalid")


def _is_not_finite(fault: orjson.JSONDecodeError, text: bytes) -> bool:
    # The place counts characters, the text has bytes.
    rest = text.decode("utf-8", "replace")[max(0, fault.pos - 1) :]
    return re.match(r".?-?(NaN|Infinity|nan\b|inf)", rest, re.DOTALL) is not None


def _make_depth_error(at: str) -> MalformedRequest:
    return MalformedRequest(f"The JSON is nested too deeply{at}.", code="json.depth")
