"""Vectors and matrices as lines of text that fit a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of a longer matrix the first rows, the named rows and the last row are shown.
MAX_ROWS = 12
_FIRST_ROWS = 4
_LAST_COLUMNS = 2

Array = NDArray[Any]


def describe_size(array: Array) -> str:
    """Return the size in words: `8 × 16`, or `16 numbers`."""
    if array.ndim == 1:
        return f"{array.size} numbers"
    return " × ".join(str(axis) for axis in array.shape)


def format_array(array: Array, *, width: int, names: Mapping[int, str]) -> list[str]:
    """Write a vector or matrix, rounded, in lines of at most `width` cells.

    Parameters
    ----------
    names
        The names of rows, by index.
    """
    rows = np.atleast_2d(array)
    is_vector = array.ndim == 1
    indices = [0] if is_vector else _choose_rows(len(rows), names)
    labels = {} if is_vector else {index: _label(index, names) for index in indices}
    margin = max((len(label) for label in labels.values()), default=0)
    number_format = _choose_format(rows)
    cells = {index: [f"{entry:{number_format}}" for entry in rows[index]] for index in indices}
    size = 1 + max((len(cell) for row in cells.values() for cell in row), default=1)
    columns = _choose_columns(rows.shape[1], (width - margin - 1) // size)
    lines = []
    for before, index in pairwise([-1, *indices]):
        if index > before + 1:
            lines.append(f"{'':{margin}} ⋮")
        row = [cells[index][column] if column is not None else "…" for column in columns]
        lines.append(f"{labels.get(index, ''):{margin}} {''.join(f'{c:>{size}}' for c in row)}")
    return lines


def _choose_rows(count: int, names: Mapping[int, str]) -> list[int]:
    if count <= MAX_ROWS:
        return list(range(count))
    named = list(names)[: MAX_ROWS - _FIRST_ROWS - 1]
    return sorted({*range(_FIRST_ROWS), *named, count - 1})


def _label(index: int, names: Mapping[int, str]) -> str:
    return f"{index} = {names[index]}" if index in names else f"{index}"


def _choose_columns(count: int, room: int) -> list[int | None]:
    """Return the columns to show; None stands for the columns left out."""
    if count <= room:
        return list(range(count))
    first = max(room - _LAST_COLUMNS - 1, 1)
    return [*range(first), None, *range(count - _LAST_COLUMNS, count)]


def _choose_format(rows: Array) -> str:
    """Return the number format: three decimals, unless entries are very large or small."""
    largest = float(np.abs(rows).max(initial=0.0))
    return ".3f" if largest == 0 or 0.01 <= largest < 1e5 else ".2e"
