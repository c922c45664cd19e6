"""How work grows with its input, told by comparison: a limit in seconds fails on a slow machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")


def is_proportional(
    work: Callable[[Input], object], make_input: Callable[[int], Input], size: int
) -> bool:
    """Whether work on an input of a size takes time in proportion to it, compared with a quarter.

    That takes four times as long as the quarter does, and work that grows with the square takes
    sixteen times as long. The work must not remember what it did.
    """
    whole, quarter = make_input(size), make_input(size // 4)
    # The fastest is the one that was disturbed least, and the first one finds nothing prepared.
    limit = 8 * min(_measure_seconds(work, quarter) for _ in range(3))
    return any(_measure_seconds(work, whole) < limit for _ in range(5))


def _measure_seconds(work: Callable[[Input], object], given: Input) -> float:
    """The processor time of this process alone, without the garbage of earlier tests."""
    gc.disable()
    try:
        begun = time.process_time()
        work(given)
        return time.process_time() - begun
    finally:
        gc.enable()
