"""Every fault of a sent value, found with its place."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from grader.errors import FieldError
from grader.reading.layouts import Layout, lay_out
from grader.reading.locations import (
    Spot,
    count,
    excerpt,
    is_number,
    name_value,
    not_a_number,
    wrong_length,
    wrong_shape,
)

LARGEST_EXACT_INTEGER = 2**53


def find_faults(value: object, spot: Spot) -> Iterator[FieldError]:
    """All faults of a value, lazily, so that a value full of faults need not be walked."""
    if not isinstance(value, list):
        is_single = bool(spot.shape.axes) and is_number(value)
        fault = wrong_shape(spot, "a single number") if is_single else _entry_fault(value, spot)
        yield from [fault] if fault else []
        return
    layout = lay_out(value, spot)
    if 0 in layout.axes:
        says = f"is empty; {spot.shape.describe()} is needed."
        yield spot.fault(says, code="answer.empty", got="an empty list")
    elif not spot.shape.axes:
        yield wrong_shape(spot, layout.describe(), hint="Write a plain number such as 0.25.")
    elif len(spot.shape.axes) == 1:
        yield from _faults_of_vector(value, spot, layout)
    else:
        yield from _faults_of_matrix(value, spot, layout)


def _faults_of_vector(value: list[object], spot: Spot, layout: Layout) -> Iterator[FieldError]:
    (length,) = spot.shape.axes
    if layout.depth > 1:
        is_padded = layout.axes in ((length, 1), (1, length))
        how = f" (in NumPy {spot.field}.ravel())" if is_padded else ""
        hint = f"Write it as a flat list of {count(length, 'number')}{how}."
        yield wrong_shape(spot, layout.describe(), hint=hint)
        return
    if len(value) != length:
        yield wrong_length(spot, code="answer.shape", got=len(value), needed=length)
    yield from _entry_faults(value, spot)


def _faults_of_matrix(value: list[object], spot: Spot, layout: Layout) -> Iterator[FieldError]:
    rows, columns = spot.shape.axes
    if layout.depth > 2 or not any(isinstance(row, list) for row in value):
        hint = f"Write it as a list of {count(rows, 'row')} with {count(columns, 'number')} each."
        yield wrong_shape(spot, layout.describe(), hint=hint)
        return
    if len(layout.axes) == 2 and layout.axes != (rows, columns):
        # All rows are wrong alike, or their number is, so that one fault says it.
        is_transposed = layout.axes == (columns, rows)
        hint = f"It is transposed: send {spot.field}.T (in MATLAB {spot.field}.')."
        yield wrong_shape(spot, layout.describe(), hint=hint if is_transposed else "")
        columns = layout.axes[1]
    elif len(value) != rows:
        yield wrong_shape(spot, count(len(value), "row"))
    for index, row in enumerate(value):
        yield from _faults_of_row(row, spot.at(index), length=columns)


def _faults_of_row(row: object, spot: Spot, *, length: int) -> Iterator[FieldError]:
    if not isinstance(row, list):
        code = "answer.shape" if is_number(row) else "number.type"
        needed = f"a list of {count(length, 'number')}"
        says = f"is {name_value(row)}; {needed} is needed."
        yield spot.fault(says, code=code, expected=needed, got=name_value(row))
        return
    if len(row) != length:
        yield wrong_length(spot, code="row.length", got=len(row), needed=length)
    yield from _entry_faults(row, spot)


def _entry_faults(entries: list[object], spot: Spot) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        # Most entries are clean floats, and need no place to be made for them.
        if type(entry) is float and math.isfinite(entry):
            continue
        if fault := _entry_fault(entry, spot.at(index)):
            yield fault


def _entry_fault(entry: object, spot: Spot) -> FieldError | None:
    match entry:
        case bool():
            return not_a_number(spot, name_value(entry))
        case int() | np.integer():
            return _integer_fault(int(entry), spot)
        case float() | np.floating():
            return _float_fault(float(entry), spot)
        case _:
            return not_a_number(spot, name_value(entry))


def _integer_fault(number: int, spot: Spot) -> FieldError | None:
    if abs(number) <= LARGEST_EXACT_INTEGER:
        return None
    try:
        float(number)
    except OverflowError:
        return _float_fault(math.inf, spot)
    got = excerpt(str(number))
    return spot.fault(
        f"is the integer {got}, which is too large to be held exactly.",
        code="number.precision",
        expected="an integer of at most 2^53, or a decimal number",
        got=got,
        hint="If a rounded value will do, write it with a decimal point, such as 1.0e17.",
    )


def _float_fault(number: float, spot: Spot) -> FieldError | None:
    if math.isnan(number):
        says = "is NaN, which is not a number; write a plain number such as 0.25."
        return spot.fault(says, code="number.nan", expected="a finite number", got="NaN")
    if math.isinf(number):
        says = "is infinite or beyond 1.8e308; write a finite number such as 1e6."
        return spot.fault(says, code="number.infinite", expected="a finite number", got="infinity")
    return None
