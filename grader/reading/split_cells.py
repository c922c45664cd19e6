"""Cutting an undressed text into cells: tables, lists within lists, rows of MATLAB and LaTeX."""

from __future__ import annotations

import re
from enum import Enum

from grader.domain.shapes import Kind
from grader.reading.cells import Cell, Tree
from grader.reading.layouts import MAX_NESTING
from grader.reading.locations import FieldLocation
from grader.reading.paste_errors import DECIMAL_COMMA, make_decimal_comma_error, make_paste_error
from grader.reading.unwrap import UnwrappedText, Wrapper, to_spaces


class PasteFormat(Enum):
    """What a pasted text was recognised as; the value is its name in a sentence."""

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


def split_cells(body: UnwrappedText, spot: FieldLocation) -> tuple[PasteFormat, Tree]:
    """The cells of an undressed text, nested for this shape, and what it was recognised as."""
    match body.dress:
        case Wrapper.LATEX:
            if DECIMAL_COMMA.search(body.text):
                raise make_decimal_comma_error(body.text, spot)
            rows = _split_latex_rows(_LATEX_LINE.sub(to_spaces, body.text))
            return PasteFormat.LATEX, _flatten_vector(rows, spot)
        case Wrapper.NONE:
            return _split_table(body.text, spot)
        case Wrapper.BRACKETS | Wrapper.CALL if body.text.count("[") > 1:
            return _choose_list_format(body), _split_nested_lists(body.text, spot)
        case Wrapper.BRACKETS | Wrapper.CALL:
            return _split_one_bracket(body, spot)


def _split_table(text: str, spot: FieldLocation) -> tuple[PasteFormat, Tree]:
    if _has_decimal_commas(text):
        raise make_decimal_comma_error(text, spot)
    text = _INDENT.sub(to_spaces, text)
    if ";" in text:
        form = PasteFormat.MATLAB
    elif "," in text:
        form = PasteFormat.CSV
    elif "\t" in text:
        form, text = PasteFormat.TSV, text.replace("\t", ",")
    else:
        form = PasteFormat.SPACES
    rows = _split_rows(text)
    if not spot.shape.axes and [len(row) for row in rows] == [1]:
        return form, rows[0][0]
    return form, _flatten_vector(rows, spot)


def _has_decimal_commas(text: str) -> bool:
    """Whether commas stand only inside numbers, while something else separates the numbers."""
    words = text.replace(";", " ").split()
    lines = [line for line in text.split("\n") if line.strip()]
    return "," in text and len(words) > len(lines) and all(map(_COMMA_NUMBER.fullmatch, words))


def _split_one_bracket(body: UnwrappedText, spot: FieldLocation) -> tuple[PasteFormat, Tree]:
    opening = body.text.index("[")
    if not body.text.endswith("]"):
        raise make_paste_error(spot, Cell("[", opening), "is never closed")
    inside = " " * (opening + 1) + body.text[opening + 1 : -1]
    is_plain = "," not in inside and ";" not in inside
    is_broken_by_numpy = is_plain and spot.shape.kind is not Kind.MATRIX
    if body.dress is Wrapper.CALL or is_broken_by_numpy:
        return PasteFormat.NUMPY, [cell for row in _split_rows(inside) for cell in row]
    rows = _split_rows(_OPEN_LINE.sub(lambda found: found.group().replace("\n", " "), inside))
    if is_plain or ";" in inside or len(rows) > 1:
        return PasteFormat.MATLAB, _flatten_vector(rows, spot)
    return PasteFormat.LIST, [cell for row in rows for cell in row]


def _choose_list_format(body: UnwrappedText) -> PasteFormat:
    if body.dress is Wrapper.CALL:
        return PasteFormat.NUMPY
    if ";" in body.text:
        return PasteFormat.MATLAB
    return PasteFormat.LIST if "," in body.text else PasteFormat.NUMPY


def _flatten_vector(rows: list[list[Cell]], spot: FieldLocation) -> Tree:
    is_line = len(rows) == 1 or all(len(row) == 1 for row in rows)
    if len(spot.shape.axes) == 1 and is_line:
        return [cell for row in rows for cell in row]
    return rows


def _split_rows(text: str) -> list[list[Cell]]:
    """The cells of every row that has any; a comma at the end of a row does no harm."""
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


def _split_nested_lists(text: str, spot: FieldLocation) -> Tree:
    """The cells of lists within lists, whose brackets must match."""
    stack: list[list[Tree]] = [[]]
    is_after_cell = True
    for token in TOKEN.finditer(text):
        sign, cell = token.group(), Cell(token.group(), token.start())
        if len(stack) == 1 and stack[0] and sign != "\n":
            raise make_paste_error(spot, cell, "comes after the end of the list")
        match sign:
            case "[":
                if len(stack) > MAX_NESTING + 1:
                    raise make_paste_error(spot, cell, "is nested too deeply")
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
        raise make_paste_error(spot, Cell("[", text.index("[")), "is never closed")
    return stack[0][0]
