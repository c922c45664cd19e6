"""Numbers as a student sends them: decoded JSON or NumPy arrays, read exactly or refused.

A clean answer takes a short way that only proves it clean. Everything else takes the careful way,
which finds every fault with its place. No way looks deeper into a value than its shape allows, so
that neither a huge nor a deeply nested value can cost time or memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape
from grader.errors import AnswerRefused, FieldError
from grader.reading.layouts import Layout, measure_layout, to_lists
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


def read_array(value: object, *, field: str, shape: Shape) -> Array:
    """Read a value of exactly this shape; nothing is stretched, flattened or transposed to fit.

    Parameters
    ----------
    value
        A plain number for a number, a flat list for a column or a row, a list of rows for a
        matrix. Tuples, NumPy arrays and NumPy numbers will do as well.
    field
        The name of the answer's field, which every message begins with.

    Returns
    -------
    A new, contiguous float64 array with the shape's axes, all finite, without negative zeros.

    Raises
    ------
    AnswerRefused
        With every fault that was found, at most fifty. The codes are ``answer.empty``,
        ``answer.shape``, ``row.length``, ``number.type``, ``number.nan``, ``number.infinite`` and
        ``number.precision`` (an integer too large to be held exactly).
    """
    array = _read_clean(value, shape.axes)
    if array is None:
        array = _read_carefully(value, FieldLocation(field, shape))
    # Adding zero turns the negative zeros into plain ones.
    array += 0.0
    return array


def _read_clean(value: object, axes: tuple[int, ...]) -> Array | None:
    """The value as a new array, or None where it is not plainly without faults."""
    types = _entry_types(value, axes)
    if not types or not types <= {float, int}:
        return None
    # An integer beyond the range of floats overflows; the careful way will say where.
    with suppress(OverflowError):
        array = np.array(value, dtype=np.float64, order="C")
        largest = np.abs(array).max()
        # A comparison with NaN is false, so that NaN takes the careful way as well.
        if largest < (_MAX_EXACT_INTEGER if int in types else math.inf):
            return array
    return None


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


def _read_carefully(value: object, spot: FieldLocation) -> Array:
    plain = to_lists(value, spot)
    faults = list(islice(_find_errors(plain, spot), AnswerRefused.MOST))
    if faults:
        raise AnswerRefused(faults)
    return np.array(plain, dtype=np.float64)


_MAX_EXACT_INTEGER = 2**53


def _find_errors(value: object, spot: FieldLocation) -> Iterator[FieldError]:
    """All faults of a value, lazily, so that a value full of faults need not be walked."""
    if not isinstance(value, list):
        is_single = bool(spot.shape.axes) and is_number(value)
        fault = (
            make_shape_error(spot, "a single number") if is_single else _check_entry(value, spot)
        )
        yield from [fault] if fault else []
        return
    layout = measure_layout(value, spot)
    if 0 in layout.axes:
        says = f"is empty; {spot.shape.describe()} is needed."
        yield spot.fault(says, code="answer.empty", got="an empty list")
    elif not spot.shape.axes:
        yield make_shape_error(spot, layout.describe(), hint="Write a plain number such as 0.25.")
    elif len(spot.shape.axes) == 1:
        yield from _find_vector_errors(value, spot, layout)
    else:
        yield from _find_matrix_errors(value, spot, layout)


def _find_vector_errors(
    value: list[object], spot: FieldLocation, layout: Layout
) -> Iterator[FieldError]:
    (length,) = spot.shape.axes
    if layout.depth > 1:
        is_padded = layout.axes in ((length, 1), (1, length))
        how = f" (in NumPy {spot.field}.ravel())" if is_padded else ""
        hint = f"Write it as a flat list of {format_count(length, 'number')}{how}."
        yield make_shape_error(spot, layout.describe(), hint=hint)
        return
    if len(value) != length:
        yield make_length_error(spot, code="answer.shape", got=len(value), needed=length)
    yield from _find_entry_errors(value, spot)


def _find_matrix_errors(
    value: list[object], spot: FieldLocation, layout: Layout
) -> Iterator[FieldError]:
    rows, columns = spot.shape.axes
    if layout.depth > 2 or not any(isinstance(row, list) for row in value):
        hint = (
            f"Write it as a list of {format_count(rows, 'row')} "
            f"with {format_count(columns, 'number')} each."
        )
        yield make_shape_error(spot, layout.describe(), hint=hint)
        return
    if len(layout.axes) == 2 and layout.axes != (rows, columns):
        # All rows are wrong alike, or their number is, so that one fault says it.
        is_transposed = layout.axes == (columns, rows)
        hint = f"It is transposed: send {spot.field}.T (in MATLAB {spot.field}.')."
        yield make_shape_error(spot, layout.describe(), hint=hint if is_transposed else "")
        columns = layout.axes[1]
    elif len(value) != rows:
        yield make_shape_error(spot, format_count(len(value), "row"))
    for index, row in enumerate(value):
        yield from _find_row_errors(row, spot.at(index), length=columns)


def _find_row_errors(row: object, spot: FieldLocation, *, length: int) -> Iterator[FieldError]:
    if not isinstance(row, list):
        code = "answer.shape" if is_number(row) else "number.type"
        needed = f"a list of {format_count(length, 'number')}"
        says = f"is {describe_value(row)}; {needed} is needed."
        yield spot.fault(says, code=code, expected=needed, got=describe_value(row))
        return
    if len(row) != length:
        yield make_length_error(spot, code="row.length", got=len(row), needed=length)
    yield from _find_entry_errors(row, spot)


def _find_entry_errors(entries: list[object], spot: FieldLocation) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        # Most entries are clean floats, and need no place to be made for them.
        if type(entry) is float and math.isfinite(entry):
            continue
        if fault := _check_entry(entry, spot.at(index)):
            yield fault


def _check_entry(entry: object, spot: FieldLocation) -> FieldError | None:
    match entry:
        case bool():
            return make_type_error(spot, describe_value(entry))
        case int() | np.integer():
            return _check_integer(int(entry), spot)
        case float() | np.floating():
            return _check_float(float(entry), spot)
        case _:
            return make_type_error(spot, describe_value(entry))


def _check_integer(number: int, spot: FieldLocation) -> FieldError | None:
    if abs(number) <= _MAX_EXACT_INTEGER:
        return None
    try:
        float(number)
    except OverflowError:
        return _check_float(math.inf, spot)
    got = format_excerpt(str(number))
    return spot.fault(
        f"is the integer {got}, which is too large to be held exactly.",
        code="number.precision",
        expected="an integer of at most 2^53, or a decimal number",
        got=got,
        hint="If a rounded value will do, write it with a decimal point, such as 1.0e17.",
    )


def _check_float(number: float, spot: FieldLocation) -> FieldError | None:
    if math.isnan(number):
        says = "is NaN, which is not a number; write a plain number such as 0.25."
        return spot.fault(says, code="number.nan", expected="a finite number", got="NaN")
    if math.isinf(number):
        says = "is infinite or beyond 1.8e308; write a finite number such as 1e6."
        return spot.fault(says, code="number.infinite", expected="a finite number", got="infinity")
    return None
