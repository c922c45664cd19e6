r"""Taking away what is around pasted numbers: ``q =``, ``np.array(``, ``\begin{pmatrix}``.

What is taken away leaves as many spaces, so that a place in what remains is the place in what was
sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto


class Wrapper(Enum):
    """What stands around the numbers."""

    NONE = auto()
    BRACKETS = auto()
    CALL = auto()
    LATEX = auto()


@dataclass(frozen=True, slots=True)
class UnwrappedText:
    """The numbers of a text at their own places, and what follows and does not belong there."""

    dress: Wrapper
    text: str
    tail: str = ""


_SIGNS = str.maketrans(
    {"\r": "\n", "\N{MINUS SIGN}": "-", "\N{ZERO WIDTH NO-BREAK SPACE}": " "}
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
)
_NUMPY_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:float|int)[0-9]++\(([^()]*+)\)")
_HEAD = re.compile(
    r"\s*+(?:[^\W\d]\w*+\s*+=\s*+)?"
    r"(?P<call>(?:\w++\.)?(?:array|asarray|tensor|matrix|Array|Matrix)\(\s*+(?=\[))?"
)
_END_OF_CALL = re.compile(
    r"\s*+(?:,\s*+(?:\w++\s*+=\s*+)?(?:[\w.:'\"<>]++|\([0-9, ]*+\))?\s*+)*\)[\s;]*+"
)
_LINE_CONTINUATION = re.compile(r"\.\.\.[ \t]*+\n")
_BEGIN = re.compile(r"\\begin\{(?P<name>[pbBvV]?matrix|smallmatrix|array)\}(?:\{[clr| ]*+\})?")
_AROUND_LATEX = re.compile(
    r"(?:\s|[$.,;]|\\[\[\]()]|\\(?:left|right)\s*+\\?[\[\](){}.|]"
    r"|\\?[^\W\d]\w*+(?:\{\w++\})?\s*+=)*"
)


def normalize_signs(text: str) -> str:
    """The text with one sign for each meaning, and of the same length."""
    levelled = text.replace("\r\n", " \n").translate(_SIGNS)
    return _NUMPY_SCALAR.sub(_keep_group, levelled)


def _keep_group(found: re.Match[str]) -> str:
    before, after = found.start(1) - found.start(), found.end() - found.end(1)
    return " " * before + found.group(1) + " " * after


def to_spaces(found: re.Match[str]) -> str:
    """As many spaces as were found."""
    return " " * len(found.group())


def remove_wrapper(text: str) -> UnwrappedText:
    """The numbers of a levelled text, without what is around them."""
    if (begin := _BEGIN.search(text)) and (latex := _remove_latex_wrapper(text, begin)):
        return latex
    head = _HEAD.match(text)
    start = head.end() if head else 0
    if not text.startswith("[", start):
        return UnwrappedText(Wrapper.NONE, " " * start + text[start:].rstrip(" \t\n;"))
    is_call = bool(head and head["call"])
    # Without any closing bracket the text goes on to its end, where the fault will be found.
    end = text.rfind("]") + 1 or len(text)
    inside, tail = " " * start + text[start:end], text[end:]
    if not tail.strip(" \t\n;,") or (is_call and _END_OF_CALL.fullmatch(tail)):
        tail = ""
    if inside.count("[") == 1 and not is_call:
        inside = _LINE_CONTINUATION.sub(to_spaces, inside)
    return UnwrappedText(Wrapper.CALL if is_call else Wrapper.BRACKETS, inside, tail)


def _remove_latex_wrapper(text: str, begin: re.Match[str]) -> UnwrappedText | None:
    end = text.find(rf"\end{{{begin['name']}}}", begin.end())
    tail = text[end:].partition("}")[2]
    around = (text[: begin.start()], tail)
    if end < 0 or not all(map(_AROUND_LATEX.fullmatch, around)):
        return None
    return UnwrappedText(Wrapper.LATEX, " " * begin.end() + text[begin.end() : end])
