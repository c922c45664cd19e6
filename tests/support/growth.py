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
    """Whether work on an input of a size takes time in proportion to it, compared with an eighth.

    That takes eight times as long as the eighth does, and work that grows with the square takes 64
    times as long. The work must not remember what it did.
    """
    whole, eighth = make_input(size), make_input(size // 8)
    # Both are measured side by side, because the machine is slow for seconds at a time.
    return any(_measure_ratio(work, whole, eighth) < 22 for _ in range(10))


def _measure_ratio(work: Callable[[Input], object], large: Input, small: Input) -> float:
    # The faster one was disturbed less, and the first one finds nothing prepared.
    shortest = min(_measure_seconds(work, small) for _ in range(2))
    return _measure_seconds(work, large) / shortest


def _measure_seconds(work: Callable[[Input], object], given: Input) -> float:
    """The processor time of this process alone, without the garbage of earlier tests."""
    gc.disable()
    try:
        begun = time.process_time()
        work(given)
        return time.process_time() - begun
    finally:
        gc.enable()
