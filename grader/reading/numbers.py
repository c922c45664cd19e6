"""Numbers as a student sends them: decoded JSON or NumPy arrays, read exactly or refused.

A clean answer takes a short way that only proves it clean. Everything else takes the careful way,
which finds every fault with its place. No way looks deeper into a value than its shape allows, so
that neither a huge nor a deeply nested value can cost time or memory.
"""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape
from grader.errors import AnswerRefused
from grader.reading.faults import LARGEST_EXACT_INTEGER, find_faults
from grader.reading.layouts import unpack
from grader.reading.locations import Spot

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
        array = _read_carefully(value, Spot(field, shape))
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


def _read_carefully(value: object, spot: Spot) -> Array:
    plain = unpack(value, spot)
    faults = list(islice(find_faults(plain, spot), AnswerRefused.MOST))
    if faults:
        raise AnswerRefused(faults)
    return np.array(plain, dtype=np.float64)
