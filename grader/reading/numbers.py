"""Numbers as a student sends them: decoded JSON or NumPy arrays, read exactly or refused.

A clean answer takes a short way that only proves it clean. Everything else takes the careful way,
which finds every fault with its place. No way looks deeper into a value than its shape allows, so
that neither a huge nor a deeply nested value can cost time or memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind, Shape
from grader.errors import AnswerRefused, FieldError

Array: TypeAlias = NDArray[np.float64]

MOST_ENTRIES = 1_000_000
MOST_NESTING = 4
LARGEST_EXACT_INTEGER = 2**53

_ECHOED_CHARACTERS = 20


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
        array = _read_carefully(value, Spot(field, shape))
    # Adding zero turns the negative zeros into plain ones.
    array += 0.0
    return array


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in an answer's field; ``str`` says it in words that count from one."""

    field: str
    shape: Shape
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        has_rows = self.shape.kind is Kind.MATRIX or len(self.path) > 1
        names = ("row", "entry") if has_rows else ("entry",)
        steps = [f"{name} {index + 1}" for name, index in zip(names, self.path, strict=False)]
        return ", ".join([self.field, *steps])

    def at(self, index: int) -> Spot:
        """The place one level further in."""
        return replace(self, path=(*self.path, index))

    def fault(
        self,
        says: str,
        *,
        code: str,
        expected: str = "",
        got: str = "",
        hint: str = "",
        column: int | None = None,
    ) -> FieldError:
        """A fault at this place; ``says`` goes on after the place's own words."""
        return FieldError(
            f"{self} {says}",
            field=self.field,
            code=code,
            path=self.path,
            expected=expected or self.shape.describe(),
            got=got,
            hint=hint,
            column=column,
        )


def excerpt(text: str) -> str:
    """The beginning of a foreign text, short and printable, so that a message may repeat it."""
    shown = "".join(sign if sign.isprintable() else "�" for sign in text[:_ECHOED_CHARACTERS])
    return shown + "…" if len(text) > _ECHOED_CHARACTERS else shown


# The short way


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
        if largest < (LARGEST_EXACT_INTEGER if int in types else math.inf):
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


# The careful way


def _read_carefully(value: object, spot: Spot) -> Array:
    plain = _unpack(value, spot)
    faults = list(islice(_faults(plain, spot), AnswerRefused.MOST))
    if faults:
        raise AnswerRefused(faults)
    return np.array(plain, dtype=np.float64)


def _unpack(value: object, spot: Spot) -> object:
    """The value with lists in place of the arrays and tuples on its outer levels."""
    if isinstance(value, np.ndarray):
        return _unpack_array(value, spot)
    if not isinstance(value, list | tuple):
        return value
    if len(value) > MOST_ENTRIES:
        raise _too_many_entries(spot)
    if len(spot.path) == MOST_NESTING:
        return list(value)
    return [
        _unpack(item, spot.at(index)) if isinstance(item, tuple | np.ndarray) else item
        for index, item in enumerate(value)
    ]


def _unpack_array(array: NDArray[np.generic], spot: Spot) -> object:
    if array.size > MOST_ENTRIES:
        raise _too_many_entries(spot)
    if array.ndim > MOST_NESTING:
        raise _too_much_nesting(spot)
    if array.dtype.kind not in "iuf":
        raise AnswerRefused([_not_a_number(spot, f"an array of {excerpt(array.dtype.name)}")])
    if array.dtype.kind == "f":
        # A long double beyond the range of float64 becomes infinite here, and is refused as such.
        with np.errstate(over="ignore"):
            array = array.astype(np.float64, subok=True)
    unpacked: object = array.tolist()
    return unpacked


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a nested list is laid out: its axes, as far in as all its lists are equally long."""

    axes: tuple[int, ...]
    is_ragged: bool = False

    @property
    def depth(self) -> int:
        return len(self.axes) + self.is_ragged

    def describe(self) -> str:
        match self.axes:
            case (rows,) if self.is_ragged:
                return f"{_count(rows, 'row')} of different lengths"
            case (length,):
                return f"a flat list of length {length}"
            case (rows, columns) if not self.is_ragged:
                return f"a {rows} × {columns} matrix"
            case _:
                return f"a list with {self.depth} levels of nesting"


def _lay_out(value: list[object], spot: Spot) -> _Layout:
    axes: tuple[int, ...] = ()
    level: list[list[object]] = [value]
    while level:
        if sum(map(len, level)) > MOST_ENTRIES:
            raise _too_many_entries(spot)
        if len(axes) == MOST_NESTING:
            raise _too_much_nesting(spot)
        lengths = set(map(len, level))
        if len(lengths) > 1:
            return _Layout(axes, is_ragged=True)
        axes = (*axes, *lengths)
        entries = list(chain.from_iterable(level))
        level = [entry for entry in entries if isinstance(entry, list)]
        if len(level) < len(entries):
            break
    return _Layout(axes)


def _faults(value: object, spot: Spot) -> Iterator[FieldError]:
    """All faults of a value, lazily, so that a value full of faults need not be walked."""
    if not isinstance(value, list):
        is_single = bool(spot.shape.axes) and _is_number(value)
        fault = _wrong_shape(spot, "a single number") if is_single else _entry_fault(value, spot)
        yield from [fault] if fault else []
        return
    layout = _lay_out(value, spot)
    if 0 in layout.axes:
        says = f"is empty; {spot.shape.describe()} is needed."
        yield spot.fault(says, code="answer.empty", got="an empty list")
    elif not spot.shape.axes:
        yield _wrong_shape(spot, layout.describe(), hint="Write a plain number such as 0.25.")
    elif len(spot.shape.axes) == 1:
        yield from _faults_of_vector(value, spot, layout)
    else:
        yield from _faults_of_matrix(value, spot, layout)


def _faults_of_vector(value: list[object], spot: Spot, layout: _Layout) -> Iterator[FieldError]:
    (length,) = spot.shape.axes
    if layout.depth > 1:
        is_padded = layout.axes in ((length, 1), (1, length))
        how = f" (in NumPy {spot.field}.ravel())" if is_padded else ""
        hint = f"Write it as a flat list of {_count(length, 'number')}{how}."
        yield _wrong_shape(spot, layout.describe(), hint=hint)
        return
    if len(value) != length:
        yield _wrong_length(spot, code="answer.shape", got=len(value), needed=length)
    yield from _entry_faults(value, spot)


def _faults_of_matrix(value: list[object], spot: Spot, layout: _Layout) -> Iterator[FieldError]:
    rows, columns = spot.shape.axes
    if layout.depth > 2 or not any(isinstance(row, list) for row in value):
        hint = f"Write it as a list of {_count(rows, 'row')} with {_count(columns, 'number')} each."
        yield _wrong_shape(spot, layout.describe(), hint=hint)
        return
    if len(layout.axes) == 2 and layout.axes != (rows, columns):
        # All rows are wrong alike, or their number is, so that one fault says it.
        is_transposed = layout.axes == (columns, rows)
        hint = f"It is transposed: send {spot.field}.T (in MATLAB {spot.field}.')."
        yield _wrong_shape(spot, layout.describe(), hint=hint if is_transposed else "")
        columns = layout.axes[1]
    elif len(value) != rows:
        yield _wrong_shape(spot, _count(len(value), "row"))
    for index, row in enumerate(value):
        yield from _faults_of_row(row, spot.at(index), length=columns)


def _faults_of_row(row: object, spot: Spot, *, length: int) -> Iterator[FieldError]:
    if not isinstance(row, list):
        code = "answer.shape" if _is_number(row) else "number.type"
        needed = f"a list of {_count(length, 'number')}"
        says = f"is {_name(row)}; {needed} is needed."
        yield spot.fault(says, code=code, expected=needed, got=_name(row))
        return
    if len(row) != length:
        yield _wrong_length(spot, code="row.length", got=len(row), needed=length)
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
            return _not_a_number(spot, _name(entry))
        case int() | np.integer():
            return _integer_fault(int(entry), spot)
        case float() | np.floating():
            return _float_fault(float(entry), spot)
        case _:
            return _not_a_number(spot, _name(entry))


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


# The words


def _not_a_number(spot: Spot, got: str) -> FieldError:
    is_whole = not spot.path and bool(spot.shape.axes)
    expected = spot.shape.describe() if is_whole else "a plain number"
    says = f"{expected} is needed." if is_whole else "write a plain number such as 0.25."
    return spot.fault(f"is {got}; {says}", code="number.type", expected=expected, got=got)


def _wrong_shape(spot: Spot, got: str, *, hint: str = "") -> FieldError:
    says = f"is {got}; {spot.shape.describe()} is needed."
    return spot.fault(says, code="answer.shape", got=got, hint=hint)


def _wrong_length(spot: Spot, *, code: str, got: int, needed: int) -> FieldError:
    says = f"has {_count(got, 'number')}; {needed} {'is' if needed == 1 else 'are'} needed."
    expected = _count(needed, "number") if spot.path else spot.shape.describe()
    return spot.fault(says, code=code, expected=expected, got=_count(got, "number"))


def _too_many_entries(spot: Spot) -> AnswerRefused:
    return AnswerRefused([_wrong_shape(spot, f"more than {MOST_ENTRIES} entries long")])


def _too_much_nesting(spot: Spot) -> AnswerRefused:
    return AnswerRefused([_wrong_shape(spot, f"more than {MOST_NESTING} levels of nesting deep")])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _is_number(value: object) -> bool:
    is_plain = isinstance(value, int | float | np.integer | np.floating)
    return is_plain and not isinstance(value, bool)


def _name(value: object) -> str:
    """What a value is, in the words of JSON where it has them."""
    match value:
        case None:
            return "null"
        case bool() | np.bool_():
            return "true" if value else "false"
        case str():
            return f'the text "{excerpt(value)}"'
        case list() | tuple() | np.ndarray():
            return "a list"
        case dict():
            return "an object"
        case _ if _is_number(value):
            return "a single number"
        case _:
            return f"of the type {excerpt(type(value).__name__)}"
