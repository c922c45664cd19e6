"""Given numbers and arrays as lines of text that fit a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of longer matrices the first rows, the named ones and the last are shown.
MAX_ROWS = 12
_FIRST_ROWS = 4
_LAST_COLUMNS = 2

Array = NDArray[Any]


def describe_size(array: Array) -> str:
    """How many numbers there are: `8 × 16`, or `16 numbers`."""
    if array.ndim == 1:
        return f"{array.size} numbers"
    return " × ".join(str(axis) for axis in array.shape)


def format_array(array: Array, *, width: int, names: Mapping[int, str]) -> list[str]:
    """A vector or matrix in lines of at most `width` cells, rounded.

    Parameters
    ----------
    names
        Rows that have a name, by position.
    """
    rows = np.atleast_2d(array)
    is_vector = array.ndim == 1
    places = [0] if is_vector else _choose_rows(len(rows), names)
    labels = {} if is_vector else {place: _label(place, names) for place in places}
    margin = max((len(label) for label in labels.values()), default=0)
    style = _style(rows)
    cells = {place: [f"{entry:{style}}" for entry in rows[place]] for place in places}
    size = 1 + max((len(cell) for row in cells.values() for cell in row), default=1)
    columns = _choose_columns(rows.shape[1], (width - margin - 1) // size)
    lines = []
    for before, place in pairwise([-1, *places]):
        if place > before + 1:
            lines.append(f"{'':{margin}} ⋮")
        row = [cells[place][column] if column is not None else "…" for column in columns]
        lines.append(f"{labels.get(place, ''):{margin}} {''.join(f'{c:>{size}}' for c in row)}")
    return lines


def _choose_rows(count: int, names: Mapping[int, str]) -> list[int]:
    if count <= MAX_ROWS:
        return list(range(count))
    named = list(names)[: MAX_ROWS - _FIRST_ROWS - 1]
    return sorted({*range(_FIRST_ROWS), *named, count - 1})


def _label(place: int, names: Mapping[int, str]) -> str:
    return f"{place} = {names[place]}" if place in names else f"{place}"


def _choose_columns(count: int, room: int) -> list[int | None]:
    """The columns to show; None stands for those that are left out."""
    if count <= room:
        return list(range(count))
    first = max(room - _LAST_COLUMNS - 1, 1)
    return [*range(first), None, *range(count - _LAST_COLUMNS, count)]


def _style(rows: Array) -> str:
    """How entries are written: three decimals, unless the matrix is far from that size."""
    largest = float(np.abs(rows).max(initial=0.0))
    return ".3f" if largest == 0 or 0.01 <= largest < 1e5 else ".2e"
