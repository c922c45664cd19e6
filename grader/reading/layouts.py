"""How lists within lists are laid out, found within limits on their size and depth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from grader.errors import AnswerRefused
from grader.reading.locations import (
    FieldLocation,
    format_count,
    format_excerpt,
    make_shape_error,
    make_type_error,
)

MAX_ENTRIES = 1_000_000
MAX_NESTING = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """How a nested list is laid out: its axes, as far in as all its lists are equally long."""

    axes: tuple[int, ...]
    is_ragged: bool = False

    @property
    def depth(self) -> int:
        """How many levels of lists there are, as far as they were looked at."""
        return len(self.axes) + self.is_ragged

    def describe(self) -> str:
        """Say the layout in words, with an article: *a flat list of length 3*."""
        match self.axes:
            case (rows,) if self.is_ragged:
                return f"{format_count(rows, 'row')} of different lengths"
            case (length,):
                return f"a flat list of length {length}"
            case (rows, columns) if not self.is_ragged:
                return f"a {rows} × {columns} matrix"
            case _:
                return f"a list with {self.depth} levels of nesting"


def measure_layout(value: list[object], spot: FieldLocation) -> Layout:
    """The layout of a list; refused where it has too many entries or levels."""
    axes: tuple[int, ...] = ()
    level: list[list[object]] = [value]
    while level:
        if sum(map(len, level)) > MAX_ENTRIES:
            raise _make_entries_error(spot)
        if len(axes) == MAX_NESTING:
            raise _make_nesting_error(spot)
        lengths = set(map(len, level))
        if len(lengths) > 1:
            return Layout(axes, is_ragged=True)
        axes = (*axes, *lengths)
        entries = list(chain.from_iterable(level))
        level = [entry for entry in entries if isinstance(entry, list)]
        if len(level) < len(entries):
            break
    return Layout(axes)


def to_lists(value: object, spot: FieldLocation) -> object:
    """The value with lists in place of the arrays and tuples on its outer levels."""
    if isinstance(value, np.ndarray):
        return _array_to_lists(value, spot)
    if not isinstance(value, list | tuple):
        return value
    if len(value) > MAX_ENTRIES:
        raise _make_entries_error(spot)
    if len(spot.path) == MAX_NESTING:
        return list(value)
    return [
        to_lists(item, spot.at(index)) if isinstance(item, tuple | np.ndarray) else item
        for index, item in enumerate(value)
    ]


def _array_to_lists(array: NDArray[np.generic], spot: FieldLocation) -> object:
    if array.size > MAX_ENTRIES:
        raise _make_entries_error(spot)
    if array.ndim > MAX_NESTING:
        raise _make_nesting_error(spot)
    if array.dtype.kind not in "iuf":
        raise AnswerRefused(
            [make_type_error(spot, f"an array of {format_excerpt(array.dtype.name)}")]
        )
    if array.dtype.kind == "f":
        # A long double beyond the range of float64 becomes infinite here, and is refused as such.
        with np.errstate(over="ignore"):
            array = array.astype(np.float64, subok=True)
    unpacked: object = array.tolist()
    return unpacked


def _make_entries_error(spot: FieldLocation) -> AnswerRefused:
    return AnswerRefused([make_shape_error(spot, f"more than {MAX_ENTRIES} entries long")])


def _make_nesting_error(spot: FieldLocation) -> AnswerRefused:
    return AnswerRefused(
        [make_shape_error(spot, f"more than {MAX_NESTING} levels of nesting deep")]
    )
