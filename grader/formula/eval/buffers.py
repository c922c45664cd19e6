"""Memory for large intermediate arrays, kept between computations.

An array of a few megabytes that is allocated for each computation costs more than what is computed
in it: the system hands out its pages one by one, empty, and outside the cache.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Larger arrays than this are not kept. A thread keeps one buffer for each product with sampled
#: keys that a question needs at once, and one for scratch.
MAX_KEPT_BYTES = 8 * 1024 * 1024


# As many numbers lie in the fast part of the cache, beside as many that they are computed from.
_MAX_CACHED_NUMBERS = 1 << 16

# Maximum numbers in one batch: more would leave the cache, fewer would waste calls and make each
# product with the noise slower.
_MAX_BATCH_NUMBERS = 1 << 19


def split_for_cache(answers: int, numbers: int) -> list[slice]:
    """Cut answers into parts, to be computed one after the other within the cache.

    Parameters
    ----------
    numbers
        How many each answer has.
    """
    return _split(answers, _MAX_CACHED_NUMBERS // max(1, numbers))


def split_for_products(answers: int, numbers: int) -> list[slice]:
    """Cut answers into larger parts, each for one product with the noise."""
    return _split(answers, _MAX_BATCH_NUMBERS // max(1, numbers))


def _split(answers: int, at_once: int) -> list[slice]:
    at_once = max(1, at_once)
    if answers <= at_once:
        return [slice(0, answers)]
    starts = range(0, answers, at_once)
    return [slice(start, min(start + at_once, answers)) for start in starts]


def select_part(values: Array, rows: slice | NDArray[np.intp]) -> Array:
    """The values of some answers; those that all answers share stay as they are."""
    return values[rows] if len(values) > 1 else values


class Buffers:
    """Hands out arrays with arbitrary content; this one allocates each anew."""

    def take(self, shape: tuple[int, ...]) -> Array:
        """An array that stays valid until the end of the computation."""
        return np.empty(shape)

    def scratch(self, shape: tuple[int, ...]) -> Array:
        """An array that stays valid until scratch memory is asked for again."""
        return np.empty(shape)


#: For computations whose values are kept.
FRESH = Buffers()


class KeptBuffers(Buffers):
    """Hands out the same memory in each computation; values must be copied out of it before."""

    def __init__(self) -> None:
        self._taken: list[Array] = []
        self._count = 0
        self._scratch = np.empty(0)
        self.is_borrowed = False

    def take(self, shape: tuple[int, ...]) -> Array:
        """An array that stays valid until `restart`."""
        size = math.prod(shape)
        if size * 8 > MAX_KEPT_BYTES:
            return np.empty(shape)
        if self._count == len(self._taken):
            self._taken.append(np.empty(size))
        elif self._taken[self._count].size < size:
            self._taken[self._count] = np.empty(size)
        self._count += 1
        return self._taken[self._count - 1][:size].reshape(shape)

    def scratch(self, shape: tuple[int, ...]) -> Array:
        """An array that stays valid until scratch memory is asked for again."""
        size = math.prod(shape)
        if size * 8 > MAX_KEPT_BYTES:
            return np.empty(shape)
        if self._scratch.size < size:
            self._scratch = np.empty(size)
        return self._scratch[:size].reshape(shape)

    def restart(self) -> None:
        """Begin another computation; what was handed out before will be overwritten."""
        self._count = 0


class _ThreadBuffers(threading.local):
    def __init__(self) -> None:
        self.kept = KeptBuffers()


_OF_THREAD = _ThreadBuffers()


@contextmanager
def borrow_buffers() -> Iterator[KeptBuffers]:
    """The buffers of this thread; where they are in use already, new ones."""
    buffers = _OF_THREAD.kept
    if buffers.is_borrowed:
        yield KeptBuffers()
        return
    buffers.is_borrowed = True
    try:
        yield buffers
    finally:
        buffers.restart()
        buffers.is_borrowed = False
