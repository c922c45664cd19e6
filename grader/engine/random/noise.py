"""Standard normals, drawn once and shared by all answers to a question.

Drawing costs ten times more than judging, so the numbers are cached, up to a limit.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray

from grader.engine.random.streams import open_stream

Array = NDArray[Any]

#: Key sets come in blocks of this size; the numbers of a block do not depend on other blocks.
BLOCK_SIZE = 2000
#: The default limit of cached noise.
MAX_CACHED_BYTES = 256 * 1024 * 1024


class NoiseName(NamedTuple):
    """Identifies noise: the question's key, the purpose, the quantity and its axes."""

    key: bytes
    purpose: str
    quantity: str
    axes: tuple[int, ...]


class NoiseBank:
    """A cache of noise; the least recently used goes first when the limit is reached.

    An array has the axes of one key set first and the key sets on its last-but-one axis or, for
    single numbers, alone. In memory the key sets come last: sums over keys then run along
    contiguous key sets, which is several times faster than along eight neighbouring numbers, and a
    product with a few vectors takes half the time.
    """

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self.max_bytes = max_bytes
        self._cache: LRUCache[Any, Array] = LRUCache(max_bytes, lambda array: array.nbytes)
        self._lock = threading.Lock()

    # Two threads may draw the same numbers at once; they are equal.
    @cachedmethod(lambda self: self._cache, lock=lambda self: self._lock)
    def normals(self, name: NoiseName, first: int, last: int) -> Array:
        """Standard normals for the key sets from `first` up to, not including, `last`.

        Returns an array of shape (keys, last - first, d) for axes (keys, d), of shape
        (last - first, d) for axes (d,), and of shape (last - first,) for no axes.
        """
        return _draw(name, first, last)

    @property
    def cached_bytes(self) -> int:
        """The size of the cached noise."""
        return int(self._cache.currsize)


def _draw(name: NoiseName, first: int, last: int) -> Array:
    axis = max(len(name.axes) - 1, 0)
    blocks = [
        _draw_block(name, block)
        for block in range(first // BLOCK_SIZE, (last + BLOCK_SIZE - 1) // BLOCK_SIZE)
    ]
    joined = np.concatenate(blocks, axis=axis)
    start = first - first // BLOCK_SIZE * BLOCK_SIZE
    drawn = joined.take(range(start, start + last - first), axis=axis)
    if name.axes:
        drawn = np.ascontiguousarray(drawn.swapaxes(-1, -2)).swapaxes(-1, -2)
    drawn.flags.writeable = False
    return drawn


def _draw_block(name: NoiseName, block: int) -> Array:
    generator = open_stream(name.key, "noise", name.purpose, name.quantity, block)
    axes = (*name.axes[:-1], BLOCK_SIZE, *name.axes[-1:])
    return generator.standard_normal(axes)


def hash_numbers(arrays: list[Array]) -> str:
    """A digest of numbers, stored with a grade so that anyone can verify them."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()
