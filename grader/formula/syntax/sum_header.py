r"""The index and bounds of sums: `\sum_{j=1}^m`, `\sum_{i \neq a,b}`, `sum_{i not in {a, b}}`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.errors import FormulaError
from grader.formula.syntax.normalize import match_brace


@dataclass(frozen=True, slots=True)
class SumHeader:
    """The text below and above a sum sign.

    ``first`` and ``last`` are the texts of the bounds, empty where there are none.
    """

    bound: str
    first: str = ""
    last: str = ""
    excluded: tuple[str, ...] = ()
    included: tuple[str, ...] | None = None


#: A sum sign with a header; `sum(…)` is a function. A capital sigma may also be a name.
SUM_SIGN = re.compile(
    r"(?:\\sum(?![A-Za-z])|∑|sum)\s*(?=[_^])|(?P<sigma>\\Sigma(?![A-Za-z])|Σ)\s*(?=_)"
)

_UNEQUAL = (
    r"\\neq?(?![A-Za-z])|≠|!=|<>|\\notin(?![A-Za-z])|\\not\s*(?:\\in(?![A-Za-z])|=)|∉|not\s+in\b"
)
_AT_MOST = r"\\leq?(?![A-Za-z])|≤|<="
_SUCH_THAT = re.compile(r"\s*(?::|\||\\mid(?![A-Za-z])|,|\n)\s*")
_UNEQUAL_SIGN = re.compile(_UNEQUAL)
_MEMBER_SIGN = re.compile(r"\\in(?![A-Za-z])|∈|in\b")
_WITHOUT = re.compile(r"\\setminus(?![A-Za-z])|\\backslash(?![A-Za-z])|∖")
_SEPARATOR = re.compile(r",|;|\n|\\land(?![A-Za-z])|\\wedge(?![A-Za-z])|∧|\band\b|" + _UNEQUAL)
_INDEX_AND_CONDITION = re.compile(r"\s*([A-Za-z])(?![A-Za-z])\s*(.*)", re.DOTALL)
_BETWEEN = re.compile(rf"\s*(\w+)\s*(?:{_AT_MOST})\s*([A-Za-z])\s*(?:{_AT_MOST})\s*(\w+)\s*")
_LABEL = re.compile(r"[A-Za-z]+|[0-9]+")
_BRACES = re.compile(r"\\?[{}()\[\]]")
# The whole range, written as a set: {1, …, n} or [n].
_FULL_RANGE = re.compile(
    r"\\?\{\s*+1\s*+,?\s*+(?:\\[lc]?dots|\.{2,3}|…)\s*+,?\s*+(?P<set>\w+)\s*+\\?\}\s*+"
    r"|\[\s*+(?P<to>\w+)\s*+\]\s*+"
)
_SCRIPT = re.compile(r"[0-9]+|\S")


def read_header(text: str, sign: int, position: int) -> tuple[SumHeader, int]:
    """Read the header of the sum at `sign` from `position` on; also gives the position after it."""
    scripts = {"_": "", "^": ""}
    while position < len(text) and text[position] in "_^":
        script = text[position]
        written, position = _read_script(text, position + 1)
        if not written or scripts[script]:
            raise _make_header_error(sign)
        scripts[script] = written
        while text[position : position + 1].isspace():
            position += 1
    header = _read(scripts["_"], scripts["^"])
    if header is None:
        raise _make_header_error(sign)
    return header, position


def _read_script(text: str, position: int) -> tuple[str, int]:
    while text[position : position + 1].isspace():
        position += 1
    match text[position : position + 1]:
        case "{":
            end = match_brace(text, position)
            return text[position + 1 : end].strip(), end + 1
        case "(" if ")" in text[position:]:
            end = text.index(")", position)
            return text[position + 1 : end].strip(), end + 1
        case _:
            single = _SCRIPT.match(text, position)
            return (single[0], single.end()) if single else ("", position)


def _read(lower: str, upper: str) -> SumHeader | None:
    if (between := _BETWEEN.fullmatch(lower)) and not upper:
        return SumHeader(between[2], between[1], between[3])
    match = _INDEX_AND_CONDITION.fullmatch(lower)
    if match is None:
        return None
    bound, rest = match[1], match[2].strip()
    first = ""
    if rest.startswith("="):
        first, rest = _split_lower_bound(rest[1:])
        if not first:
            return None
    if such_that := _SUCH_THAT.match(rest):
        rest = rest[such_that.end() :]
    rest = re.sub(rf"^{bound}(?![A-Za-z])\s*", "", rest)
    if not rest:
        return SumHeader(bound, first, upper) if not such_that else None
    return _read_condition(SumHeader(bound, first, upper), rest)


def _split_lower_bound(text: str) -> tuple[str, str]:
    """The lower bound, and what follows it from its comma on."""
    end = re.search(r"[,;:|\n]|\\mid", text)
    return (text[: end.start()].strip(), text[end.start() :]) if end else (text.strip(), "")


def _read_condition(header: SumHeader, rest: str) -> SumHeader | None:
    bound, first, last = header.bound, header.first, header.last
    if unequal := _UNEQUAL_SIGN.match(rest):
        labels = _labels(rest[unequal.end() :], bound)
        return SumHeader(bound, first, last, excluded=labels) if labels else None
    member_of = _MEMBER_SIGN.match(rest)
    if member_of is None:
        return None
    listed, *without = _WITHOUT.split(rest[member_of.end() :].strip())
    whole = _FULL_RANGE.fullmatch(listed)
    if whole and not (first or last) and len(without) <= 1:
        excluded = _labels(without[0], bound) if without else ()
        last = whole["set"] or whole["to"]
        return None if without and not excluded else SumHeader(bound, "1", last, excluded)
    labels = _labels(listed, bound)
    return SumHeader(bound, first, last, included=labels) if labels and not without else None


def _labels(text: str, bound: str) -> tuple[str, ...]:
    r"""The indices of a list such as `\{a, b\}`; `i \neq a, i \neq b` means the same as `a, b`.

    Empty where the list contains anything else.
    """
    text = re.sub(rf"(?<![A-Za-z\\]){bound}\s*(?:{_UNEQUAL})", ",", _BRACES.sub(" ", text))
    labels = tuple(piece.strip() for piece in _SEPARATOR.split(text) if piece.strip())
    is_list = bound not in labels and all(map(_LABEL.fullmatch, labels))
    return labels if is_list else ()


def _make_header_error(sign: int) -> FormulaError:
    return FormulaError(
        "The index or the bounds of this sum cannot be read.",
        column=sign + 1,
        hint=r"Write \sum_{i=1}^n, \sum_{i \neq a,b} or \sum_{i \in \{a,b\}}.",
        code="formula.sum",
    )
