"""How lists within lists are laid out, found within limits on their size and depth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from grader.errors import AnswerRefused
from grader.reading.locations import Spot, count, excerpt, not_a_number, wrong_shape

MOST_ENTRIES = 1_000_000
MOST_NESTING = 4


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
                return f"{count(rows, 'row')} of different lengths"
            case (length,):
                return f"a flat list of length {length}"
            case (rows, columns) if not self.is_ragged:
                return f"a {rows} × {columns} matrix"
            case _:
                return f"a list with {self.depth} levels of nesting"


def lay_out(value: list[object], spot: Spot) -> Layout:
    """The layout of a list; refused where it has too many entries or levels."""
    axes: tuple[int, ...] = ()
    level: list[list[object]] = [value]
    while level:
        if sum(map(len, level)) > MOST_ENTRIES:
            raise _too_many_entries(spot)
        if len(axes) == MOST_NESTING:
            raise _too_much_nesting(spot)
        lengths = set(map(len, level))
        if len(lengths) > 1:
            return Layout(axes, is_ragged=True)
        axes = (*axes, *lengths)
        entries = list(chain.from_iterable(level))
        level = [entry for entry in entries if isinstance(entry, list)]
        if len(level) < len(entries):
            break
    return Layout(axes)


def unpack(value: object, spot: Spot) -> object:
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
        unpack(item, spot.at(index)) if isinstance(item, tuple | np.ndarray) else item
        for index, item in enumerate(value)
    ]


def _unpack_array(array: NDArray[np.generic], spot: Spot) -> object:
    if array.size > MOST_ENTRIES:
        raise _too_many_entries(spot)
    if array.ndim > MOST_NESTING:
        raise _too_much_nesting(spot)
    if array.dtype.kind not in "iuf":
        raise AnswerRefused([not_a_number(spot, f"an array of {excerpt(array.dtype.name)}")])
    if array.dtype.kind == "f":
        # A long double beyond the range of float64 becomes infinite here, and is refused as such.
        with np.errstate(over="ignore"):
            array = array.astype(np.float64, subok=True)
    unpacked: object = array.tolist()
    return unpacked


def _too_many_entries(spot: Spot) -> AnswerRefused:
    return AnswerRefused([wrong_shape(spot, f"more than {MOST_ENTRIES} entries long")])


def _too_much_nesting(spot: Spot) -> AnswerRefused:
    return AnswerRefused([wrong_shape(spot, f"more than {MOST_NESTING} levels of nesting deep")])
