r"""The heads of sums: `\sum_{j=1}^m`, `\sum_{i \neq a,b}`, `sum_{i not in {a, b}}`, `∑_i`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.errors import FormulaError
from grader.formula.notation import closing_brace


@dataclass(frozen=True, slots=True)
class Header:
    """What stands below and above a sum sign, as written.

    ``first`` and ``last`` are the texts of the bounds, empty where none was written.
    """

    bound: str
    first: str = ""
    last: str = ""
    excluded: tuple[str, ...] = ()
    included: tuple[str, ...] | None = None


_BOUND = re.compile(r"(?:\\sum|∑|sum)\s*_\s*\{?\s*([A-Za-z])")
_UNEQUAL = re.compile(
    r"\\neq?(?![A-Za-z])|≠|!=|<>|\\notin(?![A-Za-z])|\\not\s*\\in|∉|not\s+in|\\not\s*="
)
_MEMBER_OF = re.compile(r"\\in(?![A-Za-z])|∈|\bin\b")
_HEAD = re.compile(r"\s*([A-Za-z])\s*(.*)", re.DOTALL)


def bound_names(text: str) -> frozenset[str]:
    """The bound indices of all sums in a text; the lexer accepts them as subscripts."""
    return frozenset(_BOUND.findall(text))


def read_header(text: str, position: int) -> tuple[Header, int]:
    """Read the head of a sum from behind its sign; gives it and the position behind it."""
    lower, upper = "", ""
    start = position
    while position < len(text) and text[position] in "_^":
        is_lower = text[position] == "_"
        part, position = _script(text, position + 1)
        lower, upper = (part, upper) if is_lower else (lower, part)
        while position < len(text) and text[position] == " ":
            position += 1
    return _read(lower, upper.strip(), column=start + 1), position


def _script(text: str, position: int) -> tuple[str, int]:
    while position < len(text) and text[position] == " ":
        position += 1
    if text[position : position + 1] == "{":
        end = closing_brace(text, position)
        return text[position + 1 : end], end + 1
    return text[position : position + 1], position + 1


def _read(lower: str, upper: str, *, column: int) -> Header:
    match = _HEAD.fullmatch(lower)
    if match is None:
        raise _unreadable(column)
    bound, rest = match[1], match[2].strip()
    first = ""
    if rest.startswith("="):
        first, _, rest = rest[1:].partition(",")
        rest = re.sub(rf"^\s*{bound}\s*", "", rest).strip()
    if not rest:
        return Header(bound, first.strip(), upper)
    if unequal := _UNEQUAL.match(rest):
        return Header(bound, first.strip(), upper, excluded=_labels(rest[unequal.end() :], bound))
    if member_of := _MEMBER_OF.match(rest):
        return Header(bound, first.strip(), upper, included=_labels(rest[member_of.end() :], bound))
    raise _unreadable(column)


def _labels(text: str, bound: str) -> tuple[str, ...]:
    # "i \neq a, i \neq b" says the same as "i \neq a, b".
    text = re.sub(rf"(?<![A-Za-z\\]){bound}\s*(?:{_UNEQUAL.pattern})", " ", text)
    return tuple(re.findall(r"[A-Za-z]|\d+", re.sub(r"\\(?:land|wedge|text|mathrm)", " ", text)))


def _unreadable(column: int) -> FormulaError:
    return FormulaError(
        "The head of this sum cannot be read.",
        column=column,
        hint=r"Write \sum_{i=1}^n, \sum_{i \neq a,b} or \sum_{i \in \{a,b\}}.",
        code="formula.sum",
    )
