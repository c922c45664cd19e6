"""Numbers as a student sends them: decoded JSON or NumPy arrays, read exactly or refused.

A clean answer takes a fast path that only proves it clean. Any other takes the slow path, which
finds every error with its place. Neither looks deeper into a value than the limits below allow, so
that no huge or deeply nested value can cost time or memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape
from grader.errors import MAX_PLACES, AnswerRefused, FieldError
from grader.reading.locations import (
    FieldLocation,
    describe_value,
    format_count,
    format_excerpt,
    is_number,
    make_length_error,
    make_shape_error,
    make_type_error,
)

Array: TypeAlias = NDArray[np.float64]

MAX_ENTRIES = 1_000_000
MAX_NESTING = 4
#: How far beyond the shape that is asked for entries are looked at.
_MAX_EXTRA = 1000
_MAX_EXACT_INTEGER = 2**53


def read_array(value: object, *, field: str, shape: Shape) -> Array:
    """Read a value of exactly this shape; nothing is stretched or transposed to fit.

    Parameters
    ----------
    value
        A plain number for a number, a flat list for a column or a row, a list of rows for a
        matrix. Tuples, NumPy arrays and NumPy numbers are accepted too, and for a column or a row
        of n numbers also a matrix of n × 1 or 1 × n; `is_nested` tells them apart.
    field
        The name of the answer's field; every message begins with it.

    Returns
    -------
    A new, contiguous float64 array with the shape's axes, all finite, without negative zeros.

    Raises
    ------
    AnswerRefused
        With every error that was found, up to `MAX_PLACES`. The codes are ``answer.empty``,
        ``answer.shape``, ``row.length``, ``number.type``, ``number.nan``, ``number.infinite`` and
        ``number.precision`` (an integer too large to be stored exactly).
    """
    array = _read_clean(value, shape.axes)
    if array is None:
        location = FieldLocation(field, shape)
        _refuse_long_list(value, location)
        array = _read_with_errors(value, location)
    # Adding zero turns negative zeros into plain ones.
    array += 0.0
    return array


def _read_clean(value: object, axes: tuple[int, ...]) -> Array | None:
    """The value as a new array, or None unless it is plainly free of errors."""
    types = _entry_types(value, axes)
    if not types or not types <= {float, int}:
        return None
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except OverflowError:
        # An integer beyond the range of floats; the slow path will say where.
        return None
    if int in types:
        # A comparison with NaN is false, so that NaN takes the slow path as well.
        return array if np.abs(array).max() < _MAX_EXACT_INTEGER else None
    return array if np.logical_and.reduce(np.isfinite(array), axis=None) else None


def _entry_types(value: object, axes: tuple[int, ...]) -> set[type]:
    """The types of all entries of a list with exactly these axes; empty for any other value."""
    if type(value) is np.ndarray and value.shape == axes and value.size:
        return {float} if value.dtype == np.float64 else set()
    if type(value) is not list or not axes or len(value) != axes[0]:
        return set()
    if len(axes) == 1:
        return set(map(type, value))
    if all(type(row) is list and len(row) == axes[1] for row in value):
        return set(map(type, chain.from_iterable(value)))
    return set()


def _refuse_long_list(value: object, location: FieldLocation) -> None:
    """Refuse a list that is far too long, without looking at what is in it."""
    if not isinstance(value, list | tuple) or len(value) <= location.shape.size + _MAX_EXTRA:
        return
    if location.shape.axes and not is_nested(value):
        raise AnswerRefused(
            [
                make_length_error(
                    location, code="answer.shape", got=len(value), needed=location.shape.size
                )
            ]
        )
    raise AnswerRefused([make_shape_error(location, f"a list of {len(value)} entries")])


def _read_with_errors(value: object, location: FieldLocation) -> Array:
    plain = _to_lists(value, location)
    errors = list(islice(_find_errors(plain, location), MAX_PLACES))
    if errors:
        raise AnswerRefused(errors)
    return np.array(plain, dtype=np.float64).reshape(location.shape.axes)


def is_nested(value: object) -> bool:
    """Whether a value is a list of lists or an array of several axes."""
    if isinstance(value, np.ndarray):
        return value.ndim > 1
    is_list = isinstance(value, list | tuple) and bool(value)
    return is_list and isinstance(value[0], list | tuple | np.ndarray)  # type: ignore[index]  # a list, as above


def _find_errors(value: object, location: FieldLocation) -> Iterator[FieldError]:
    """All errors of a value, lazily, so that a value full of errors need not be walked."""
    if not isinstance(value, list):
        is_single = bool(location.shape.axes) and is_number(value)
        error = (
            make_shape_error(location, "a single number")
            if is_single
            else _check_entry(value, location)
        )
        yield from [error] if error else []
        return
    layout = _measure_layout(value, location)
    if 0 in layout.axes:
        message = f"is empty; {location.shape.describe()} is needed."
        yield location.error(message, code="answer.empty", got="an empty list")
    elif not location.shape.axes:
        yield make_shape_error(
            location, layout.describe(), hint="Write a plain number such as 0.25."
        )
    elif len(location.shape.axes) == 1:
        yield from _find_vector_errors(value, location, layout)
    else:
        yield from _find_matrix_errors(value, location, layout)


def _find_vector_errors(
    value: list[object], location: FieldLocation, layout: _Layout
) -> Iterator[FieldError]:
    (length,) = location.shape.axes
    if not layout.is_ragged and layout.axes in ((length, 1), (1, length)):
        for index, row in enumerate(value):
            yield from _find_row_errors(row, location.at(index), length=layout.axes[1])
        return
    if layout.depth > 1:
        hint = f"Write it as a flat list of {format_count(length, 'number')}."
        yield make_shape_error(location, layout.describe(), hint=hint)
        return
    if len(value) != length:
        yield make_length_error(location, code="answer.shape", got=len(value), needed=length)
    yield from _find_entry_errors(value[: length + _MAX_EXTRA], location)


def _find_matrix_errors(
    value: list[object], location: FieldLocation, layout: _Layout
) -> Iterator[FieldError]:
    rows, columns = location.shape.axes
    if layout.depth > 2 or not any(isinstance(row, list) for row in value):
        hint = (
            f"Write it as a list of {format_count(rows, 'row')} "
            f"with {format_count(columns, 'number')} each."
        )
        yield make_shape_error(location, layout.describe(), hint=hint)
        return
    if len(layout.axes) == 2 and layout.axes != (rows, columns):
        # All rows are wrong in the same way, or their number is, so that one error is enough.
        is_transposed = layout.axes == (columns, rows)
        hint = f"It is transposed: send {location.field}.T (in MATLAB {location.field}.')."
        yield make_shape_error(location, layout.describe(), hint=hint if is_transposed else "")
        columns = layout.axes[1]
    elif len(value) != rows:
        yield make_shape_error(location, format_count(len(value), "row"))
    for index, row in enumerate(value[: rows + _MAX_EXTRA]):
        yield from _find_row_errors(row, location.at(index), length=columns)


def _find_row_errors(row: object, location: FieldLocation, *, length: int) -> Iterator[FieldError]:
    if not isinstance(row, list):
        code = "answer.shape" if is_number(row) else "number.type"
        needed = f"a list of {format_count(length, 'number')}"
        message = f"is {describe_value(row)}; {needed} is needed."
        yield location.error(message, code=code, expected=needed, got=describe_value(row))
        return
    if len(row) != length:
        yield make_length_error(location, code="row.length", got=len(row), needed=length)
    yield from _find_entry_errors(row[: location.shape.size + _MAX_EXTRA], location)


def _find_entry_errors(entries: list[object], location: FieldLocation) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        # Most entries are clean, and no location need be made for them.
        if type(entry) is float and math.isfinite(entry):
            continue
        if type(entry) is int and -_MAX_EXACT_INTEGER <= entry <= _MAX_EXACT_INTEGER:
            continue
        if error := _check_entry(entry, location.at(index)):
            yield error


def _check_entry(entry: object, location: FieldLocation) -> FieldError | None:
    match entry:
        case bool():
            return make_type_error(location, describe_value(entry))
        case int() | np.integer():
            return _check_integer(int(entry), location)
        case float() | np.floating():
            return _check_float(float(entry), location)
        case _:
            return make_type_error(location, describe_value(entry))


def _check_integer(number: int, location: FieldLocation) -> FieldError | None:
    if abs(number) <= _MAX_EXACT_INTEGER:
        return None
    try:
        float(number)
    except OverflowError:
        return _check_float(math.inf, location)
    got = format_excerpt(str(number))
    return location.error(
        f"is the integer {got}, which is too large to be stored exactly.",
        code="number.precision",
        expected="an integer of at most 2^53, or a decimal number",
        got=got,
        hint="If a rounded value is enough, write it with a decimal point, such as 1.0e17.",
    )


def _check_float(number: float, location: FieldLocation) -> FieldError | None:
    if math.isnan(number):
        message = "is NaN, which is not a number; write a plain number such as 0.25."
        return location.error(message, code="number.nan", expected="a finite number", got="NaN")
    if math.isinf(number):
        message = "is infinite or beyond 1.8e308; write a finite number such as 1e6."
        return location.error(
            message, code="number.infinite", expected="a finite number", got="infinity"
        )
    return None


# Nested lists

#: What decoded JSON is made of: no array and no tuple.
_JSON_TYPES = {list, dict, str, int, float, bool, type(None)}


@dataclass(frozen=True, slots=True)
class _Layout:
    """The axes of a nested list, as deep as all its lists are equally long."""

    axes: tuple[int, ...]
    is_ragged: bool = False

    @property
    def depth(self) -> int:
        """The number of levels of lists that were looked at."""
        return len(self.axes) + self.is_ragged

    def describe(self) -> str:
        """The layout in words, with an article: *a flat list of length 3*."""
        match self.axes:
            case (rows,) if self.is_ragged:
                return f"{format_count(rows, 'row')} of different lengths"
            case (length,):
                return f"a flat list of length {length}"
            case (rows, columns) if not self.is_ragged:
                return f"a {rows} × {columns} matrix"
            case _:
                return f"a list with {self.depth} levels of nesting"


def _measure_layout(value: list[object], location: FieldLocation) -> _Layout:
    """The layout of a list; refuses one with too many entries or levels."""
    axes: tuple[int, ...] = ()
    level: list[list[object]] = [value]
    while level:
        if sum(map(len, level)) > MAX_ENTRIES:
            raise _make_entries_error(location)
        if len(axes) == MAX_NESTING:
            raise _make_nesting_error(location)
        lengths = set(map(len, level))
        if len(lengths) > 1:
            return _Layout(axes, is_ragged=True)
        axes = (*axes, *lengths)
        entries = list(chain.from_iterable(level))
        level = [entry for entry in entries if isinstance(entry, list)]
        if len(level) < len(entries):
            break
    return _Layout(axes)


def _to_lists(value: object, location: FieldLocation) -> object:
    """The value with lists in place of arrays and tuples on its outer levels."""
    if isinstance(value, np.ndarray):
        return _array_to_lists(value, location)
    if not isinstance(value, list | tuple):
        return value
    if len(value) > MAX_ENTRIES:
        raise _make_entries_error(location)
    if len(location.path) == MAX_NESTING:
        return list(value)
    if isinstance(value, list) and set(map(type, value)) <= _JSON_TYPES:
        return value
    return [
        _to_lists(item, location.at(index)) if isinstance(item, tuple | np.ndarray) else item
        for index, item in enumerate(value)
    ]


def _array_to_lists(array: NDArray[np.generic], location: FieldLocation) -> object:
    if array.size > MAX_ENTRIES:
        raise _make_entries_error(location)
    if array.ndim > MAX_NESTING:
        raise _make_nesting_error(location)
    if array.dtype.kind not in "iuf":
        raise AnswerRefused(
            [make_type_error(location, f"an array of {format_excerpt(array.dtype.name)}")]
        )
    if array.dtype.kind == "f":
        # A long double beyond the range of float64 becomes infinite here, and is refused as such.
        with np.errstate(over="ignore"):
            array = array.astype(np.float64, subok=True)
    unpacked: object = array.tolist()
    return unpacked


def _make_entries_error(location: FieldLocation) -> AnswerRefused:
    return AnswerRefused([make_shape_error(location, f"more than {MAX_ENTRIES} entries long")])


def _make_nesting_error(location: FieldLocation) -> AnswerRefused:
    return AnswerRefused(
        [make_shape_error(location, f"more than {MAX_NESTING} levels of nesting deep")]
    )
