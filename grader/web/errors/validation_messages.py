"""Pydantic's errors about a request → one error with a JSON pointer and a sentence for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from grader.domain.validation import JSON, InvalidValue, locate_errors
from grader.errors import MAX_PLACES, ErrorDetail, FieldPath, MalformedRequest


def explain_validation_errors(
    errors: Iterable[Mapping[str, Any]], body: object
) -> MalformedRequest:
    """Return pydantic's errors as one error that lists every location, without what was sent."""
    details: list[ErrorDetail] = []
    in_body: list[Mapping[str, Any]] = []
    for error in islice(errors, 4 * MAX_PLACES):
        source, *loc = error.get("loc") or ("body",)
        if source == "body":
            in_body.append({**error, "loc": tuple(loc)})
            continue
        # The value of a parameter is not looked into: its name is its location.
        data = {str(name): error.get("input") for name in loc[:1] if error["type"] != "missing"}
        for each in locate_errors([{**error, "loc": tuple(loc[:1])}], data, JSON):
            details.append(_to_detail(each, source, f"The {source}"))
    details += [_to_detail(each, "body", "The body") for each in locate_errors(in_body, body, JSON)]
    if len(details) == 1:
        message = details[0].detail
    else:
        shown = min(len(details), MAX_PLACES)
        message = f"{shown} places need a change; nothing was done."
    return MalformedRequest(message, code="request.invalid", faults=tuple(details))


def _to_detail(error: InvalidValue, source: str, root_name: str) -> ErrorDetail:
    field = tuple(_printable(str(step)) for step in error.path)
    sentence = error.to_sentence(_format_name(error.path) or root_name)
    return ErrorDetail(field, error.code, sentence, error.expected, error.got, source=source)


def _format_name(path: FieldPath) -> str:
    """A path as in code: ``answer.q[3]``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in path)
    return "".join(steps).removeprefix(".")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:60])
