"""Ranges in the place of a number: `0.2-0.3` is asked back and never read as a difference."""

from __future__ import annotations

import re

from grader.errors import FieldError

_NUMBER = r"[-+−]?+(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?"
_PERCENT = r"\s*+(?:\\?%)?\s*+"
_BEFORE = (
    r"[\s$]*+(?:[A-Za-z]\w*+\s*+[=≈][\s$]*+)?"
    r"(?:(?:[≈~∼]|\\approx|\\simeq|\\sim|approx\.?+|about|ca?\.|from|between)\s*+)?"
)
_RANGE = re.compile(
    rf"{_BEFORE}(?P<low>{_NUMBER}){_PERCENT}"
    r"(?:(?P<joint>--+|\.{2,}|…|\\dots|\\ldots|±|\+/-|\\pm|to|until|and|or)|(?P<dash>[-−‐‑‒–—]))"
    rf"\s*+(?P<high>{_NUMBER}){_PERCENT}[\s$.]*+",
    re.IGNORECASE,
)


def refuse_range(text: str, *, field: str) -> None:
    """Refuse a text that gives two numbers, such as a range, where one is asked for.

    A dash joins a range only where the second number is the larger one: `1 - 0.08` is arithmetic.

    Raises
    ------
    FieldError
        With the code ``number.range_given``.
    """
    match = _RANGE.fullmatch(text)
    if match is None or (match["dash"] and not _to_float(match["low"]) < _to_float(match["high"])):
        return
    raise FieldError(
        f"{field} has two numbers, {match['low']} and {match['high']}.",
        field=field,
        code="number.range_given",
        expected="one number",
        got=" ".join(text.split())[:24],
        hint="Is that a range? Send one number.",
        column=match.start("low") + 1,
    )


def _to_float(written: str) -> float:
    return float(written.replace("−", "-"))
