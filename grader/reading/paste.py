r"""Text pasted into an answer box: what NumPy, Python, MATLAB, spreadsheets and LaTeX print.

A text is undressed (of ``q =``, ``np.array(``, ``\begin{pmatrix}``), cut into cells, and its
numbers are handed to `grader.reading.numbers`, so that pasted and sent numbers are refused in the
same words. What is taken away on the way leaves as many spaces, so that a place in what remains
is the place in what was sent. No pattern here can match one text in two ways, so that reading
takes time in proportion to the length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from grader.domain.shapes import Kind, Shape
from grader.errors import AnswerRefused
from grader.reading.numbers import MOST_NESTING, Array, Spot, excerpt, read_array

LONGEST_TEXT = 200_000


class PasteFormat(Enum):
    """What a pasted text was recognised as; the value is its name in a sentence."""

    NUMPY = "NumPy"
    LIST = "nested list"
    MATLAB = "MATLAB"
    CSV = "CSV"
    TSV = "TSV"
    SPACES = "numbers separated by spaces"
    LATEX = "LaTeX matrix"


@dataclass(frozen=True, slots=True)
class Pasted:
    """A pasted array: what it was recognised as, and its numbers with the axes of its shape."""

    format: PasteFormat
    values: Array


def looks_like_numbers(text: str) -> bool:
    """Whether a text is a pasted array and not a formula.

    A single number is a formula, and so is a sum (``2 -3``) and anything with another operator or
    with a symbol in it. A list of numbers is a paste, also where a formula could be spelled alike
    (``[1, 2, 0]``). So is what can only be a damaged paste: numbers that NumPy left out, NaN,
    decimal commas, a table in which few cells are not numbers.
    """
    if len(text) > LONGEST_TEXT:
        # No formula is as long as this.
        return True
    body = _undress(_level(text))
    if body.tail:
        return False
    match body.dress:
        case _Dress.CALL | _Dress.LATEX:
            return True
        case _Dress.BRACKETS:
            words = _words(body.text.replace("[", " ").replace("]", " "))
            return all(map(_is_value, words)) and _is_one_list(body.text)
        case _Dress.NONE:
            return _looks_like_table(body.text)


def read_pasted(text: str, *, field: str, shape: Shape) -> Pasted:
    """Read a pasted text into an array of exactly this shape.

    For a vector a flat list will do, and so will a single row or a single column of MATLAB, LaTeX
    or a table. A line break inside the brackets of numbers without commas begins a new row of a
    matrix, but not of a vector, because NumPy breaks long vectors so.

    Raises
    ------
    AnswerRefused
        With the codes of `read_array`, and ``paste.truncated`` (NumPy left numbers out),
        ``paste.decimal_comma`` (a comma can be read in two ways) and ``paste.unreadable`` (the
        first thing that is not a number); ``column`` counts the text's characters from one.
    """
    spot = Spot(field, shape)
    _refuse_outright(text, spot)
    levelled = _level(text)
    try:
        return _read(levelled, spot)
    except AnswerRefused as refused:
        if refused.code in ("answer.shape", "row.length"):
            _refuse_better(levelled, spot)
        raise


# Taking away what is around the numbers


class _Dress(Enum):
    """What stands around the numbers."""

    NONE = auto()
    BRACKETS = auto()
    CALL = auto()
    LATEX = auto()


@dataclass(frozen=True, slots=True)
class _Body:
    """The numbers of a text at their own places, and what follows and does not belong there."""

    dress: _Dress
    text: str
    tail: str = ""


_SIGNS = str.maketrans(
    {"\r": "\n", "\N{MINUS SIGN}": "-", "\N{ZERO WIDTH NO-BREAK SPACE}": " "}
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NUMPY_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:float|int)[0-9]++\(([^()]*+)\)")
_HEAD = re.compile(
    r"\s*+(?:[^\W\d]\w*+\s*+=\s*+)?+"
    r"(?P<call>(?:\w++\.)?+(?:array|asarray|tensor|matrix|Array|Matrix)\(\s*+(?=\[))?+"
)
_END_OF_CALL = re.compile(
    r"\s*+(?:,\s*+(?:\w++\s*+=\s*+)?+(?:[\w.:'\"<>]++|\([0-9, ]*+\))?+\s*+)*+\)[\s;]*+"
)
_CONTINUED = re.compile(r"\.\.\.[ \t]*+\n")
_BEGIN = re.compile(r"\\begin\{(?P<name>[pbBvV]?matrix|smallmatrix|array)\}(?:\{[clr| ]*+\})?+")
_AROUND_LATEX = re.compile(
    r"(?:\s|[$.,;]|\\[\[\]()]|\\(?:left|right)\s*+\\?[\[\](){}.|]"
    r"|\\?[^\W\d]\w*+(?:\{\w++\})?+\s*+=)*+"
)


def _level(text: str) -> str:
    """The text with one sign for each meaning, and of the same length."""
    levelled = text.replace("\r\n", " \n").translate(_SIGNS)
    return _NUMPY_SCALAR.sub(_only_the_group, levelled)


def _only_the_group(found: re.Match[str]) -> str:
    before, after = found.start(1) - found.start(), found.end() - found.end(1)
    return " " * before + found.group(1) + " " * after


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _undress(text: str) -> _Body:
    if (begin := _BEGIN.search(text)) and (latex := _undress_latex(text, begin)):
        return latex
    head = _HEAD.match(text)
    start = head.end() if head else 0
    if not text.startswith("[", start):
        return _Body(_Dress.NONE, " " * start + text[start:].rstrip(" \t\n;"))
    is_call = bool(head and head["call"])
    # Without any closing bracket the text goes on to its end, where the fault will be found.
    end = text.rfind("]") + 1 or len(text)
    inside, tail = " " * start + text[start:end], text[end:]
    if not tail.strip(" \t\n;,") or (is_call and _END_OF_CALL.fullmatch(tail)):
        tail = ""
    if inside.count("[") == 1 and not is_call:
        inside = _CONTINUED.sub(_blank, inside)
    return _Body(_Dress.CALL if is_call else _Dress.BRACKETS, inside, tail)


def _undress_latex(text: str, begin: re.Match[str]) -> _Body | None:
    end = text.find(rf"\end{{{begin['name']}}}", begin.end())
    tail = text[end:].partition("}")[2]
    around = (text[: begin.start()], tail)
    if end < 0 or not all(map(_AROUND_LATEX.fullmatch, around)):
        return None
    return _Body(_Dress.LATEX, " " * begin.end() + text[begin.end() : end])


# Cutting the rest into cells


@dataclass(frozen=True, slots=True)
class _Cell:
    """What stands where a number should, and where; empty between two commas."""

    text: str
    start: int


_Tree: TypeAlias = "Sequence[_Tree] | _Cell"

_TOKEN = re.compile(r"[,;\n\[\]]|[^ \t\n,;\[\]]++")
_INDENT = re.compile(r"^[ \t]++", re.MULTILINE)
_OPEN_LINE = re.compile(r",[ \t\n]++")
_LATEX_LINE = re.compile(r"\\hline")
_LATEX_SEPARATOR = re.compile(r"&|\\\\(?:\[[^\]&\\]*+\])?+")
_COMMA_INSIDE = re.compile(r"(?<![0-9.])[0-9]++,[0-9]++(?!\.)")
_COMMA_NUMBER = re.compile(r"[-+]?[0-9]++(?:,[0-9]++)?+(?:[eE][-+]?[0-9]++)?+")


def _cut(body: _Body, spot: Spot) -> tuple[PasteFormat, _Tree]:
    match body.dress:
        case _Dress.LATEX:
            if _COMMA_INSIDE.search(body.text):
                raise _decimal_comma(body.text, spot)
            rows = _latex_rows(_LATEX_LINE.sub(_blank, body.text))
            return PasteFormat.LATEX, _flat_if_vector(rows, spot)
        case _Dress.NONE:
            return _cut_table(body.text, spot)
        case _Dress.BRACKETS | _Dress.CALL if body.text.count("[") > 1:
            return _format_of_lists(body), _nest(body.text, spot)
        case _Dress.BRACKETS | _Dress.CALL:
            return _cut_one_bracket(body, spot)


def _cut_table(text: str, spot: Spot) -> tuple[PasteFormat, _Tree]:
    if _has_decimal_commas(text):
        raise _decimal_comma(text, spot)
    text = _INDENT.sub(_blank, text)
    if ";" in text:
        form = PasteFormat.MATLAB
    elif "," in text:
        form = PasteFormat.CSV
    elif "\t" in text:
        form, text = PasteFormat.TSV, text.replace("\t", ",")
    else:
        form = PasteFormat.SPACES
    rows = _rows(text)
    if not spot.shape.axes and [len(row) for row in rows] == [1]:
        return form, rows[0][0]
    return form, _flat_if_vector(rows, spot)


def _has_decimal_commas(text: str) -> bool:
    """Whether commas stand only inside numbers, while something else separates the numbers."""
    words = text.replace(";", " ").split()
    lines = [line for line in text.split("\n") if line.strip()]
    return "," in text and len(words) > len(lines) and all(map(_COMMA_NUMBER.fullmatch, words))


def _cut_one_bracket(body: _Body, spot: Spot) -> tuple[PasteFormat, _Tree]:
    opening = body.text.index("[")
    if not body.text.endswith("]"):
        raise _refused(spot, _Cell("[", opening), "is never closed")
    inside = " " * (opening + 1) + body.text[opening + 1 : -1]
    is_plain = "," not in inside and ";" not in inside
    is_broken_by_numpy = is_plain and spot.shape.kind is not Kind.MATRIX
    if body.dress is _Dress.CALL or is_broken_by_numpy:
        return PasteFormat.NUMPY, [cell for row in _rows(inside) for cell in row]
    rows = _rows(_OPEN_LINE.sub(lambda found: found.group().replace("\n", " "), inside))
    if is_plain or ";" in inside or len(rows) > 1:
        return PasteFormat.MATLAB, _flat_if_vector(rows, spot)
    return PasteFormat.LIST, [cell for row in rows for cell in row]


def _format_of_lists(body: _Body) -> PasteFormat:
    if body.dress is _Dress.CALL:
        return PasteFormat.NUMPY
    if ";" in body.text:
        return PasteFormat.MATLAB
    return PasteFormat.LIST if "," in body.text else PasteFormat.NUMPY


def _flat_if_vector(rows: list[list[_Cell]], spot: Spot) -> _Tree:
    is_line = len(rows) == 1 or all(len(row) == 1 for row in rows)
    if len(spot.shape.axes) == 1 and is_line:
        return [cell for row in rows for cell in row]
    return rows


def _rows(text: str) -> list[list[_Cell]]:
    """The cells of every row that has any; a comma at the end of a row does no harm."""
    rows: list[list[_Cell]] = [[]]
    is_after_cell = False
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign in ";\n":
            rows.append([])
        elif sign != "," or not is_after_cell:
            rows[-1].append(_Cell(sign.strip(","), token.start()))
        is_after_cell = sign not in ",;\n"
    return [row for row in rows if row]


def _latex_rows(text: str) -> list[list[_Cell]]:
    rows: list[list[_Cell]] = [[]]
    start = 0
    for separator in _LATEX_SEPARATOR.finditer(text):
        rows[-1].append(_trimmed(text, start, separator.start()))
        if separator.group() != "&":
            rows.append([])
        start = separator.end()
    rows[-1].append(_trimmed(text, start, len(text)))
    return [row for row in rows if any(cell.text for cell in row)]


def _trimmed(text: str, start: int, end: int) -> _Cell:
    piece = text[start:end]
    return _Cell(piece.strip(), end - len(piece.lstrip()))


def _nest(text: str, spot: Spot) -> _Tree:
    """The cells of lists within lists, whose brackets must match."""
    stack: list[list[_Tree]] = [[]]
    is_after_cell = True
    for token in _TOKEN.finditer(text):
        sign, cell = token.group(), _Cell(token.group(), token.start())
        if len(stack) == 1 and stack[0] and sign != "\n":
            raise _refused(spot, cell, "comes after the end of the list")
        match sign:
            case "[":
                if len(stack) > MOST_NESTING + 1:
                    raise _refused(spot, cell, "is nested too deeply")
                inner: list[_Tree] = []
                stack[-1].append(inner)
                stack.append(inner)
            case "]":
                stack.pop()
            case "," | ";" if not is_after_cell:
                stack[-1].append(_Cell("", token.start()))
            case "," | ";" | "\n":
                pass
            case _:
                stack[-1].append(cell)
        is_after_cell = sign not in ",;[" and (sign != "\n" or is_after_cell)
    if len(stack) > 1:
        raise _refused(spot, _Cell("[", text.index("[")), "is never closed")
    return stack[0][0]


def _looks_like_table(text: str) -> bool:
    words = _words(text)
    values = sum(map(_is_value, words))
    if ("," in text or "\t" in text) and not set("[](){}=") & set(text):
        # No formula is separated so; a wrong cell is better told as such.
        return values > 1 and 3 * values >= 2 * len(words)
    is_sum = "\n" not in text and ";" not in text and all(word[0] in "+-" for word in words[1:])
    return values > 1 and values == len(words) and not is_sum


def _is_one_list(text: str) -> bool:
    """Whether the first bracket is closed at the very end, if it is closed at all."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "]": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end() == len(text)
    return True


def _words(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token not in ",;\n"]


# Turning the cells into numbers

_VALUE = re.compile(
    r"(?P<integer>[-+]?[0-9]++)"
    r"|(?P<decimal>[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+)"
    r"|(?P<nan>[-+]?(?:(?:np|numpy|math|torch)\.)?+nan)"
    r"|(?P<infinite>[-+]?(?:(?:(?:np|numpy|math|torch)\.)?+inf(?:inity)?+|\\infty))"
    r"|(?P<true>true)|(?P<false>false)|(?P<null>null|none)"
    r"|(?P<ellipsis>\.\.\.|…|\\[cdlv]?dots)",
    re.IGNORECASE,
)
_MOST_DIGITS = 310


def _is_value(word: str) -> bool:
    return _VALUE.fullmatch(word) is not None


def _value(word: str) -> object:
    """What a word that is a value stands for, as decoded JSON would have it."""
    found = _VALUE.fullmatch(word)
    match found and found.lastgroup:
        # Python takes no integer of thousands of digits; as a float it is infinite and refused.
        case "integer" if len(word) <= _MOST_DIGITS:
            return int(word)
        case "integer" | "decimal":
            return float(word)
        case "nan":
            return math.nan
        case "infinite":
            return math.inf
        case "true" | "false" as truth:
            return truth == "true"
        case _:
            return None


def _read(text: str, spot: Spot) -> Pasted:
    body = _undress(text)
    if body.tail:
        after = next(_TOKEN.finditer(text, len(body.text)))
        cell = _Cell(after.group(), after.start())
        raise _refused(spot, cell, "comes after the end of the list")
    form, tree = _cut(body, spot)
    for path, cell in _walk(tree):
        value = _VALUE.fullmatch(cell.text)
        if value is None:
            raise _unreadable(replace(spot, path=path), cell)
        if value["ellipsis"]:
            raise _truncated(spot, cell.start)
    try:
        return Pasted(form, read_array(_values(tree), field=spot.field, shape=spot.shape))
    except AnswerRefused as refused:
        for error in refused.errors:
            error.column = _column(tree, error.path)
        raise


def _walk(tree: _Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], _Cell]]:
    """Every cell with its path, in the order of the text."""
    if isinstance(tree, _Cell):
        yield path, tree
        return
    for index, branch in enumerate(tree):
        yield from _walk(branch, (*path, index))


def _values(tree: _Tree) -> object:
    if isinstance(tree, _Cell):
        return _value(tree.text)
    return [_values(branch) for branch in tree]


def _column(tree: _Tree, path: tuple[int, ...]) -> int | None:
    """Where in the text the cell of this path stands; None for a path to a whole row."""
    for index in path:
        if not isinstance(tree, _Cell):
            tree = tree[index]
    return tree.start + 1 if isinstance(tree, _Cell) else None


# The words


def _refuse_outright(text: str, spot: Spot) -> None:
    if len(text) > LONGEST_TEXT:
        says = f"is a text of {len(text)} characters; at most {LONGEST_TEXT} can be read."
        raise AnswerRefused([spot.fault(says, code="paste.unreadable")])
    if control := _CONTROL.search(text):
        raise _refused(spot, _Cell(control.group(), control.start()), "is a control character")


def _refuse_better(text: str, spot: Spot) -> None:
    """Refuse a text of the wrong shape for the reason behind it, where one can be seen."""
    # Without a semicolon, a line that MATLAB would continue may be one that NumPy has shortened.
    if "..." in text and ";" not in text:
        raise _truncated(spot, text.index("...")) from None
    with_points = _COMMA_INSIDE.sub(lambda found: found.group().replace(",", "."), text)
    if with_points == text:
        return
    try:
        _read(with_points, spot)
    except AnswerRefused:
        return
    raise _decimal_comma(text, spot) from None


def _refused(spot: Spot, cell: _Cell, why: str) -> AnswerRefused:
    got = f'"{excerpt(cell.text)}"'
    says = f"cannot be read: {got} {why}."
    column = cell.start + 1
    return AnswerRefused([spot.fault(says, code="paste.unreadable", got=got, column=column)])


def _unreadable(spot: Spot, cell: _Cell) -> AnswerRefused:
    got = f'"{excerpt(cell.text)}"' if cell.text else "empty"
    fault = spot.fault(
        f"is {got}; write a plain number such as 0.25.",
        code="paste.unreadable",
        expected="a plain number",
        got=got,
        column=cell.start + 1,
    )
    return AnswerRefused([fault])


def _truncated(spot: Spot, start: int) -> AnswerRefused:
    fault = spot.fault(
        'has "..." in place of numbers that were left out.',
        code="paste.truncated",
        got='"..."',
        hint="Call np.set_printoptions(threshold=np.inf, precision=17) and print it again.",
        column=start + 1,
    )
    return AnswerRefused([fault])


def _decimal_comma(text: str, spot: Spot) -> AnswerRefused:
    found = _COMMA_INSIDE.search(text)
    pair = found.group() if found else ""
    whole, _, rest = excerpt(pair).partition(",")
    fault = spot.fault(
        f'has the comma of "{excerpt(pair)}", which can be read in two ways: as the one number '
        f"{whole}.{rest} or as the two numbers {whole} and {rest}.",
        code="paste.decimal_comma",
        expected="numbers with decimal points",
        got=f'"{excerpt(pair)}"',
        hint="Write decimal points, or a space after each comma that separates two numbers.",
        column=found.start() + 1 if found else None,
    )
    return AnswerRefused([fault])
