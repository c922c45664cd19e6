r"""Pasted text → cells: what surrounds the numbers is removed, then the text is split.

``q =``, ``np.array(`` and ``\begin{pmatrix}`` become spaces, so that a position in the rest is the
position in the original text. The rest is a table, a nested list, or rows of MATLAB or LaTeX.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from grader.domain.shapes import Kind
from grader.errors import AnswerRefused
from grader.reading.locations import FieldLocation, format_excerpt
from grader.reading.numbers import MAX_NESTING


@dataclass(frozen=True, slots=True)
class Cell:
    """The text where a number should be, and its position; empty between two commas."""

    text: str
    start: int


Tree: TypeAlias = "Sequence[Tree] | Cell"

VALUE = re.compile(
    r"(?P<integer>[-+]?[0-9]++)"
    r"|(?P<decimal>[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<nan>[-+]?(?:(?:np|numpy|math|torch)\.)?nan)"
    r"|(?P<infinite>[-+]?(?:(?:(?:np|numpy|math|torch)\.)?inf(?:inity)?|\\infty))"
    r"|(?P<true>true)|(?P<false>false)|(?P<null>null|none)"
    r"|(?P<ellipsis>\.\.\.|…|\\[cdlv]?dots)",
    re.IGNORECASE,
)
_MAX_DIGITS = 310


def is_value(word: str) -> bool:
    """Whether a word is a number, NaN, infinity, true, false, null or an ellipsis."""
    return VALUE.fullmatch(word) is not None


def _read_value(word: str) -> object:
    """The value of a word, as JSON would decode it."""
    found = VALUE.fullmatch(word)
    match found and found.lastgroup:
        # Python cannot convert thousands of digits to an integer; as a float they are infinite.
        case "integer" if len(word) <= _MAX_DIGITS:
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


def list_cells(tree: Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Cell]]:
    """Every cell with its path, in text order."""
    if isinstance(tree, Cell):
        yield path, tree
        return
    for index, branch in enumerate(tree):
        yield from list_cells(branch, (*path, index))


def read_values(tree: Tree) -> object:
    """The values of all cells, nested as the cells are."""
    if isinstance(tree, Cell):
        return _read_value(tree.text)
    return [read_values(branch) for branch in tree]


def find_column(tree: Tree, path: tuple[int, ...]) -> int | None:
    """The column of the cell at this path; None where the path leads to a whole row."""
    for index in path:
        if not isinstance(tree, Cell):
            tree = tree[index]
    return tree.start + 1 if isinstance(tree, Cell) else None


# What surrounds the numbers


class Wrapper(Enum):
    """What surrounds the numbers."""

    NONE = auto()
    BRACKETS = auto()
    CALL = auto()
    LATEX = auto()


@dataclass(frozen=True, slots=True)
class UnwrappedText:
    """The numbers at their original positions, and any text after them that does not belong."""

    wrapper: Wrapper
    text: str
    tail: str = ""
    is_transposed: bool = False


_SIGNS = str.maketrans(
    {"\r": "\n", "\N{MINUS SIGN}": "-", "\N{ZERO WIDTH NO-BREAK SPACE}": " "}
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
)
_NUMPY_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:float|int)[0-9]++\(([^()]*+)\)")
_HEAD = re.compile(
    r"\s*+(?:[^\W\d]\w*+\s*+=\s*+)?"
    r"(?P<call>(?:\w++\.)?(?:array|asarray|tensor|matrix|Array|Matrix)\(\s*+(?=[\[(]))?"
)
_END_OF_CALL = re.compile(r"\s*+(?:,\s*+(?:\w++\s*+=\s*+)?(?:[\w.:'\"<>]++|\([0-9, ]*+\))?\s*+)*\)")
_TRANSPOSE = re.compile(
    r"\s*+(?:\.T(?!\w)|\.transpose\(\)|\.?'|[ᵀ⊤]"
    r"|\^\s*+(?:\{\s*+)?(?:T|\\top|\\intercal|\\prime|[ᵀ⊤'])(?:\s*+\})?)"
)
_BRACKETS_AND_COMMAS = re.compile(r"[()\[\],]")
_LINE_CONTINUATION = re.compile(r"\.\.\.[ \t]*+\n")
_BEGIN = re.compile(r"\\begin\{(?P<name>[pbBvV]?matrix|smallmatrix|array)\}(?:\{[clr| ]*+\})?")
_AROUND_LATEX = re.compile(
    r"(?:\s|[$.,;]|\\[\[\]()]|\\(?:left|right)\s*+\\?[\[\](){}.|]"
    r"|\\?[^\W\d]\w*+(?:\{\w++\})?\s*+=)*"
)


def normalize_signs(text: str) -> str:
    """The text with one character for each meaning, at its original length."""
    normalized = text.replace("\r\n", " \n").translate(_SIGNS)
    return _NUMPY_SCALAR.sub(_keep_group, normalized)


def _keep_group(found: re.Match[str]) -> str:
    before, after = found.start(1) - found.start(), found.end() - found.end(1)
    return " " * before + found.group(1) + " " * after


def _to_spaces(found: re.Match[str]) -> str:
    return " " * len(found.group())


def remove_wrapper(text: str) -> UnwrappedText:
    """The numbers of a normalized text, without what surrounds them."""
    if (begin := _BEGIN.search(text)) and (latex := _remove_latex_wrapper(text, begin)):
        return latex
    head = _HEAD.match(text)
    start = head.end() if head else 0
    text = _replace_tuples(text, start)
    if not text.startswith("[", start):
        return UnwrappedText(Wrapper.NONE, " " * start + text[start:].rstrip(" \t\n;"))
    is_call = bool(head and head["call"])
    # Without a closing bracket the text extends to its end, where the error will be found.
    end = text.rfind("]") + 1 or len(text)
    inside, tail = " " * start + text[start:end], text[end:]
    if is_call and (closing := _END_OF_CALL.match(tail)):
        tail = tail[closing.end() :]
    tail, is_transposed = _split_transpose(tail)
    if not tail.strip(" \t\n;,"):
        tail = ""
    if inside.count("[") == 1 and not is_call:
        inside = _LINE_CONTINUATION.sub(_to_spaces, inside)
    wrapper = Wrapper.CALL if is_call else Wrapper.BRACKETS
    return UnwrappedText(wrapper, inside, tail, is_transposed)


def _replace_tuples(text: str, start: int) -> str:
    """The text with square brackets around the tuples of the list or tuple at `start`.

    Round brackets without a comma of their own only group, and stay.
    """
    if not text.startswith(("(", "["), start) or "(" not in text[start:]:
        return text
    opened: list[int] = []
    with_comma: set[int] = set()
    characters = list(text)
    for found in _BRACKETS_AND_COMMAS.finditer(text, start):
        match found.group():
            case "(" | "[":
                opened.append(found.start())
            case ",":
                with_comma.add(opened[-1])
            case closing:
                opening = opened.pop()
                if (characters[opening] == "(") != (closing == ")"):
                    return text
                if opening in with_comma:
                    characters[opening], characters[found.start()] = "[", "]"
        if not opened:
            break
    return "".join(characters)


def _split_transpose(tail: str) -> tuple[str, bool]:
    """What follows a list, without a sign that transposes it, and whether there is one."""
    sign = _TRANSPOSE.match(tail)
    return (tail[sign.end() :], True) if sign else (tail, False)


def _remove_latex_wrapper(text: str, begin: re.Match[str]) -> UnwrappedText | None:
    end = text.find(rf"\end{{{begin['name']}}}", begin.end())
    tail, is_transposed = _split_transpose(text[end:].partition("}")[2])
    around = (text[: begin.start()], tail)
    if end < 0 or not all(map(_AROUND_LATEX.fullmatch, around)):
        return None
    inside = " " * begin.end() + text[begin.end() : end]
    return UnwrappedText(Wrapper.LATEX, inside, is_transposed=is_transposed)


# Splitting


class PasteFormat(Enum):
    """The format of a pasted text; the value is its name in a sentence."""

    NUMPY = "NumPy"
    LIST = "nested list"
    MATLAB = "MATLAB"
    CSV = "CSV"
    TSV = "TSV"
    SPACES = "numbers separated by spaces"
    LATEX = "LaTeX matrix"


TOKEN = re.compile(r"[,;\n\[\]]|[^ \t\n,;\[\]]++")

_INDENT = re.compile(r"^[ \t]++", re.MULTILINE)
_OPEN_LINE = re.compile(r",[ \t\n]++")
_LATEX_LINE = re.compile(r"\\hline")
_LATEX_SEPARATOR = re.compile(r"&|\\\\(?:\[[^\]&\\]*+\])?")
_COMMA_NUMBER = re.compile(r"[-+]?[0-9]++(?:,[0-9]++)?(?:[eE][-+]?[0-9]++)?")


def split_cells(body: UnwrappedText, location: FieldLocation) -> tuple[PasteFormat, Tree]:
    """The format of an unwrapped text, and its cells, nested for the shape that is asked for."""
    form, tree = _split(body, location)
    return form, _transpose(tree) if body.is_transposed else tree


def _transpose(tree: Tree) -> Tree:
    """The columns of a table of cells as rows; any other tree stays as it is."""
    if isinstance(tree, Cell):
        return tree
    rows = [row for row in tree if not isinstance(row, Cell)]
    if len(rows) < len(tree) or len(set(map(len, rows))) != 1:
        return tree
    return [list(column) for column in zip(*rows, strict=True)]


def _split(body: UnwrappedText, location: FieldLocation) -> tuple[PasteFormat, Tree]:
    match body.wrapper:
        case Wrapper.LATEX:
            if DECIMAL_COMMA.search(body.text):
                raise make_decimal_comma_error(location, body.text)
            rows = _split_latex_rows(_LATEX_LINE.sub(_to_spaces, body.text))
            return PasteFormat.LATEX, _flatten_vector(rows, location)
        case Wrapper.NONE:
            return _split_table(body.text, location)
        case Wrapper.BRACKETS | Wrapper.CALL if body.text.count("[") > 1:
            return _choose_list_format(body), _split_nested_lists(body.text, location)
        case Wrapper.BRACKETS | Wrapper.CALL:
            return _split_one_bracket(body, location)


def _split_table(text: str, location: FieldLocation) -> tuple[PasteFormat, Tree]:
    if _has_decimal_commas(text):
        raise make_decimal_comma_error(location, text)
    text = _INDENT.sub(_to_spaces, text)
    if ";" in text:
        form = PasteFormat.MATLAB
    elif "," in text:
        form = PasteFormat.CSV
    elif "\t" in text:
        form, text = PasteFormat.TSV, text.replace("\t", ",")
    else:
        form = PasteFormat.SPACES
    rows = _split_rows(text)
    if not location.shape.axes and [len(row) for row in rows] == [1]:
        return form, rows[0][0]
    return form, _flatten_vector(rows, location)


def _has_decimal_commas(text: str) -> bool:
    """Whether commas occur only inside numbers, while something else separates the numbers."""
    words = text.replace(";", " ").split()
    lines = [line for line in text.split("\n") if line.strip()]
    return "," in text and len(words) > len(lines) and all(map(_COMMA_NUMBER.fullmatch, words))


def _split_one_bracket(body: UnwrappedText, location: FieldLocation) -> tuple[PasteFormat, Tree]:
    opening = body.text.index("[")
    if not body.text.endswith("]"):
        raise make_paste_error(location, Cell("[", opening), "is never closed")
    inside = " " * (opening + 1) + body.text[opening + 1 : -1]
    is_plain = "," not in inside and ";" not in inside
    is_broken_by_numpy = is_plain and location.shape.kind is not Kind.MATRIX
    if body.wrapper is Wrapper.CALL or is_broken_by_numpy:
        return PasteFormat.NUMPY, [cell for row in _split_rows(inside) for cell in row]
    rows = _split_rows(_OPEN_LINE.sub(lambda found: found.group().replace("\n", " "), inside))
    if is_plain or ";" in inside or len(rows) > 1:
        return PasteFormat.MATLAB, _flatten_vector(rows, location)
    return PasteFormat.LIST, [cell for row in rows for cell in row]


def _choose_list_format(body: UnwrappedText) -> PasteFormat:
    if body.wrapper is Wrapper.CALL:
        return PasteFormat.NUMPY
    if ";" in body.text:
        return PasteFormat.MATLAB
    return PasteFormat.LIST if "," in body.text else PasteFormat.NUMPY


def _flatten_vector(rows: list[list[Cell]], location: FieldLocation) -> Tree:
    is_line = len(rows) == 1 or all(len(row) == 1 for row in rows)
    if len(location.shape.axes) == 1 and is_line:
        return [cell for row in rows for cell in row]
    return rows


def _split_rows(text: str) -> list[list[Cell]]:
    """The cells of every row that is not empty; a comma at the end of a row is ignored."""
    rows: list[list[Cell]] = [[]]
    is_after_cell = False
    for token in TOKEN.finditer(text):
        sign = token.group()
        if sign in ";\n":
            rows.append([])
        elif sign != "," or not is_after_cell:
            rows[-1].append(Cell(sign.strip(","), token.start()))
        is_after_cell = sign not in ",;\n"
    return [row for row in rows if row]


def _split_latex_rows(text: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[]]
    start = 0
    for separator in _LATEX_SEPARATOR.finditer(text):
        rows[-1].append(_make_trimmed_cell(text, start, separator.start()))
        if separator.group() != "&":
            rows.append([])
        start = separator.end()
    rows[-1].append(_make_trimmed_cell(text, start, len(text)))
    return [row for row in rows if any(cell.text for cell in row)]


def _make_trimmed_cell(text: str, start: int, end: int) -> Cell:
    piece = text[start:end]
    return Cell(piece.strip(), end - len(piece.lstrip()))


def _split_nested_lists(text: str, location: FieldLocation) -> Tree:
    """The cells of nested lists, whose brackets must match."""
    stack: list[list[Tree]] = [[]]
    is_after_cell = True
    for token in TOKEN.finditer(text):
        sign, cell = token.group(), Cell(token.group(), token.start())
        if len(stack) == 1 and stack[0] and sign != "\n":
            raise make_paste_error(location, cell, "comes after the end of the list")
        match sign:
            case "[":
                if len(stack) > MAX_NESTING + 1:
                    raise make_paste_error(location, cell, "is nested too deeply")
                inner: list[Tree] = []
                stack[-1].append(inner)
                stack.append(inner)
            case "]":
                stack.pop()
            case "," | ";" if not is_after_cell:
                stack[-1].append(Cell("", token.start()))
            case "," | ";" | "\n":
                pass
            case _:
                stack[-1].append(cell)
        is_after_cell = sign not in ",;[" and (sign != "\n" or is_after_cell)
    if len(stack) > 1:
        raise make_paste_error(location, Cell("[", text.index("[")), "is never closed")
    return stack[0][0]


# Errors

DECIMAL_COMMA = re.compile(r"(?<![0-9.])[0-9]++,[0-9]++(?!\.)")


def make_paste_error(location: FieldLocation, cell: Cell, why: str) -> AnswerRefused:
    """Refuse the text because of one piece of it; ``why`` continues the sentence after it."""
    got = f'"{format_excerpt(cell.text)}"'
    message = f"cannot be read: {got} {why}."
    error = location.error(message, code="paste.unreadable", got=got, column=cell.start + 1)
    return AnswerRefused([error])


def make_cell_error(location: FieldLocation, cell: Cell) -> AnswerRefused:
    """Refuse a cell that is not a number."""
    got = f'"{format_excerpt(cell.text)}"' if cell.text else "empty"
    error = location.error(
        f"is {got}; write a plain number such as 0.25.",
        code="paste.unreadable",
        expected="a plain number",
        got=got,
        column=cell.start + 1,
    )
    return AnswerRefused([error])


def make_truncated_error(location: FieldLocation, start: int) -> AnswerRefused:
    """Refuse a text that was printed with numbers left out."""
    error = location.error(
        'contains "...", so numbers were left out when it was printed.',
        code="paste.truncated",
        got='"..."',
        hint="In NumPy, call np.set_printoptions(threshold=np.inf, precision=17) "
        "and print it again.",
        column=start + 1,
    )
    return AnswerRefused([error])


def make_decimal_comma_error(location: FieldLocation, text: str) -> AnswerRefused:
    """Refuse a text with a comma that may be a decimal comma or a separator."""
    found = DECIMAL_COMMA.search(text)
    pair = format_excerpt(found.group()) if found else ""
    whole, _, rest = pair.partition(",")
    error = location.error(
        f'contains "{pair}", which may mean the number {whole}.{rest} '
        f"or the two numbers {whole} and {rest}.",
        code="paste.decimal_comma",
        expected="numbers with decimal points",
        got=f'"{pair}"',
        hint="Write decimal points, or put a space after each comma that separates two numbers.",
        column=found.start() + 1 if found else None,
    )
    return AnswerRefused([error])
