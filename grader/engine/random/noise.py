"""Standard normals, drawn once and shared by everyone who is judged on a question.

Drawing costs ten times more than judging, so what was drawn is kept, up to a stated bound.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.streams import open_stream

Array = NDArray[Any]

#: Key sets come in blocks of this size; a block's numbers do not depend on the others.
BLOCK_SIZE = 2000
#: How much noise is kept at most, unless told otherwise.
MAX_CACHED_BYTES = 256 * 1024 * 1024


class NoiseName(NamedTuple):
    """Which noise is meant: of which question, for which purpose, for which quantity."""

    key: bytes
    purpose: str
    quantity: str
    axes: tuple[int, ...]


@dataclass(slots=True)
class NoiseBank:
    """Keeps noise, the longest unused going first when the bound is reached.

    An array holds the axes of one key set first and the key sets on its last-but-one axis or, for
    single numbers, alone: sums over keys then run along contiguous key sets, which is several times
    faster than along eight neighbouring numbers.
    """

    most_bytes: int = MAX_CACHED_BYTES
    _kept: OrderedDict[tuple[NoiseName, int, int], Array] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def normals(self, name: NoiseName, first: int, last: int) -> Array:
        """Standard normals for the key sets from `first` up to, not including, `last`.

        Returns an array of shape (keys, last - first, d) for axes (keys, d), of shape
        (last - first, d) for axes (d,), and of shape (last - first,) for no axes.
        """
        wanted = (name, first, last)
        with self._lock:
            if wanted in self._kept:
                self._kept.move_to_end(wanted)
                return self._kept[wanted]
        # Two threads may draw the same numbers at once; they are equal, so that either may stay.
        drawn = _draw(name, first, last)
        with self._lock:
            self._kept[wanted] = drawn
            self._kept.move_to_end(wanted)
            while self.kept_bytes > self.most_bytes:
                self._kept.popitem(last=False)
        return drawn

    @property
    def kept_bytes(self) -> int:
        """How much noise is kept now."""
        return sum(array.nbytes for array in self._kept.values())


def _draw(name: NoiseName, first: int, last: int) -> Array:
    axis = max(len(name.axes) - 1, 0)
    blocks = [
        _draw_block(name, block)
        for block in range(first // BLOCK_SIZE, (last + BLOCK_SIZE - 1) // BLOCK_SIZE)
    ]
    joined = np.concatenate(blocks, axis=axis)
    start = first - first // BLOCK_SIZE * BLOCK_SIZE
    drawn = np.ascontiguousarray(joined.take(range(start, start + last - first), axis=axis))
    drawn.flags.writeable = False
    return drawn


def _draw_block(name: NoiseName, block: int) -> Array:
    generator = open_stream(name.key, "noise", name.purpose, name.quantity, block)
    axes = (*name.axes[:-1], BLOCK_SIZE, *name.axes[-1:])
    return generator.standard_normal(axes)


def hash_numbers(arrays: list[Array]) -> str:
    """A digest of numbers, stored with a grade so that anyone can see they are the same."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()
