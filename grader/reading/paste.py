r"""Text pasted into an answer box: what NumPy, Python, MATLAB, spreadsheets and LaTeX print.

`grader.reading.cells` splits a text into cells and `grader.reading.numbers` reads their numbers, so
that pasted numbers and JSON numbers are refused in the same words. No pattern can match one text
in two ways, so that reading takes time in proportion to the length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from grader.domain.shapes import Shape
from grader.errors import AnswerRefused
from grader.formula.formula import MAX_LENGTH as MAX_FORMULA_LENGTH
from grader.reading.cells import (
    DECIMAL_COMMA,
    TOKEN,
    VALUE,
    Cell,
    PasteFormat,
    Tree,
    Wrapper,
    find_column,
    is_value,
    list_cells,
    make_cell_error,
    make_decimal_comma_error,
    make_paste_error,
    make_truncated_error,
    normalize_signs,
    read_values,
    remove_wrapper,
    split_cells,
)
from grader.reading.locations import FieldLocation, make_shape_error
from grader.reading.numbers import Array, is_nested, read_array

MAX_TEXT_LENGTH = 200_000
#: How many words and signs a paste may have beyond what its shape needs: who pastes the wrong
#: matrix is still told its shape.
_MAX_EXTRA = 1500
_SIGNS_BETWEEN = ",;&\\[(\n\r"

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class PastedArray:
    """A pasted array: its format, and its numbers with the axes of its shape.

    ``is_nested`` tells that a vector was a list of lists.
    """

    format: PasteFormat
    values: Array
    is_nested: bool = False


def is_pasted_array(text: str, *, shape: Shape | None = None) -> bool:
    """Whether a text is a pasted array and not a formula.

    A single number is a formula, and so is a sum (``2 -3``) and anything with another operator or
    with a symbol in it. A list of numbers is a paste, also where a formula could be spelled alike
    (``[1, 2, 0]``). So is what can only be a damaged paste: numbers that NumPy left out, NaN,
    decimal commas, a table in which few cells are not numbers.

    Where the ``shape`` that is asked for is a vector of three or more numbers, a line of exactly as
    many numbers is one too, even if all but the first have a sign (``1 -2 -3``).
    """
    if len(text) > MAX_TEXT_LENGTH:
        # No formula is as long as this.
        return True
    if len(text) > MAX_FORMULA_LENGTH and not any(map(text.__contains__, "0123456789")):
        return False
    if _has_many_pieces(text, shape):
        return True
    body = remove_wrapper(normalize_signs(text))
    if body.tail:
        return False
    match body.wrapper:
        case Wrapper.CALL | Wrapper.LATEX:
            return True
        case Wrapper.BRACKETS:
            words = _list_words(body.text.replace("[", " ").replace("]", " "))
            return all(map(is_value, words)) and _is_one_list(body.text)
        case Wrapper.NONE:
            return _is_table(body.text, shape)


def _is_table(text: str, shape: Shape | None) -> bool:
    words = _list_words(text)
    values = sum(map(is_value, words))
    if ("," in text or "\t" in text) and not set("[](){}=") & set(text):
        # No formula is separated like this, and an error about one cell helps more.
        return values > 1 and 3 * values >= 2 * len(words)
    is_sum = "\n" not in text and ";" not in text and all(word[0] in "+-" for word in words[1:])
    # A sum gives a single number, which would be refused where a vector is asked for.
    is_vector = len(words) > 2 and shape is not None and shape.axes == (len(words),)
    return values > 1 and values == len(words) and (is_vector or not is_sum)


def _is_one_list(text: str) -> bool:
    """Whether the first bracket is closed at the very end, if it is closed at all."""
    depth = 0
    for token in TOKEN.finditer(text):
        depth += {"[": 1, "]": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end() == len(text)
    return True


def _list_words(text: str) -> list[str]:
    return [token for token in TOKEN.findall(text) if token not in ",;\n"]


def read_pasted(text: str, *, field: str, shape: Shape) -> PastedArray:
    """Read a pasted text into an array of exactly this shape.

    A vector may be a flat list, a list of lists with one number each, or a single row or column
    of MATLAB, LaTeX or a table. A transpose sign behind a list is obeyed for a matrix. Between
    numbers without commas, a line break inside brackets begins a new row of a matrix, but not of
    a vector, because NumPy breaks long vectors into lines.

    Raises
    ------
    AnswerRefused
        With the codes of `read_array`, and ``paste.truncated`` (NumPy left numbers out),
        ``paste.decimal_comma`` (a comma is ambiguous) and ``paste.unreadable`` (the
        first thing that is not a number); ``column`` counts the text's characters from one.
    """
    location = FieldLocation(field, shape)
    _refuse_unreadable(text, location)
    normalized = normalize_signs(text)
    try:
        return _read(normalized, location)
    except AnswerRefused as refused:
        if refused.code in ("answer.shape", "row.length"):
            _refuse_with_cause(normalized, location)
        raise


def _has_many_pieces(text: str, shape: Shape | None) -> bool:
    """Whether a text has far more words or signs than an array of this shape.

    Each piece takes a thousand times as long to read as it takes to count.
    """
    if len(text) <= MAX_FORMULA_LENGTH:
        return False
    needed = 0 if shape is None else shape.size
    most_words, most_signs = 2 * needed + _MAX_EXTRA, 4 * needed + 2 * _MAX_EXTRA
    return len(text.split()) > most_words or sum(map(text.count, _SIGNS_BETWEEN)) > most_signs


def _read(text: str, location: FieldLocation) -> PastedArray:
    body = remove_wrapper(text)
    if body.tail:
        after = next(TOKEN.finditer(text, len(body.text)))
        cell = Cell(after.group(), after.start())
        raise make_paste_error(location, cell, "comes after the end of the list")
    form, tree = split_cells(body, location)
    for path, cell in list_cells(tree):
        value = VALUE.fullmatch(cell.text)
        if value is None:
            raise make_cell_error(replace(location, path=path), cell)
        if value["ellipsis"]:
            raise make_truncated_error(location, cell.start)
    values = read_values(tree)
    try:
        array = read_array(values, field=location.field, shape=location.shape)
        return PastedArray(form, array, is_nested(values) and array.ndim == 1)
    except AnswerRefused as refused:
        for error in refused.errors:
            error.column = find_column(tree, error.path)
        raise


def _refuse_unreadable(text: str, location: FieldLocation) -> None:
    if len(text) > MAX_TEXT_LENGTH:
        message = f"has {len(text)} characters; at most {MAX_TEXT_LENGTH} are allowed."
        raise AnswerRefused([location.error(message, code="paste.unreadable")])
    if _has_many_pieces(text, location.shape):
        got = f"far more than {location.shape.size} entries long"
        raise AnswerRefused([make_shape_error(location, got)])
    if control := _CONTROL.search(text):
        raise make_paste_error(
            location, Cell(control.group(), control.start()), "is a control character"
        )


def _refuse_with_cause(text: str, location: FieldLocation) -> None:
    """Refuse a text of the wrong shape for the underlying reason, where there is one."""
    # Without a semicolon, a line that MATLAB would continue may be one that NumPy has shortened.
    if "..." in text and ";" not in text:
        raise make_truncated_error(location, text.index("...")) from None
    with_points = DECIMAL_COMMA.sub(lambda found: found.group().replace(",", "."), text)
    if with_points == text:
        return
    try:
        _read(with_points, location)
    except AnswerRefused:
        return
    raise make_decimal_comma_error(location, text) from None


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells as they were written; a vector is one row."""

    rows: tuple[tuple[str, ...], ...]
    is_vector: bool

    def place(self, path: tuple[int, ...]) -> tuple[int, int | None] | None:
        """The row and the entry of an error's path; the entry is None for an error of a whole row.

        None where the error has no single place.
        """
        if not path:
            return None
        if self.is_vector:
            return 0, path[0]
        return path[0], path[1] if len(path) > 1 else None


def find_grid(text: str, *, field: str, shape: Shape) -> Grid | None:
    """The grid in a text of numbers; None where there is no grid."""
    if _has_many_pieces(text, shape) or not is_pasted_array(text, shape=shape):
        return None
    try:
        _, tree = split_cells(remove_wrapper(normalize_signs(text)), FieldLocation(field, shape))
    except AnswerRefused:
        return None
    return _find_grid_in(tree)


def _find_grid_in(tree: Tree) -> Grid | None:
    if isinstance(tree, Cell):
        return None
    if all(isinstance(each, Cell) for each in tree):
        return Grid((_texts(tree),), is_vector=True)
    if any(isinstance(each, Cell) or not _is_flat(each) for each in tree):
        return None
    return Grid(tuple(_texts(each) for each in tree), is_vector=False)


def _is_flat(tree: Tree) -> bool:
    return not isinstance(tree, Cell) and all(isinstance(each, Cell) for each in tree)


def _texts(tree: Tree) -> tuple[str, ...]:
    return () if isinstance(tree, Cell) else tuple(e.text for e in tree if isinstance(e, Cell))
