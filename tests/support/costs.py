"""What something costs of the processor, in terms of a fixed piece of work."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def measure_milliseconds(work: Callable[[], object]) -> float:
    """The processor time of all threads of this process, as the usual machine would take it.

    The least of three, relative to a piece of work that takes ten milliseconds there, which is done
    beside it.
    """
    return min(_measure(work) / _measure(_do_fixed_work) for _ in range(3)) * 10


def _measure(work: Callable[[], object]) -> float:
    gc.disable()
    try:
        begun = time.process_time()
        work()
        return time.process_time() - begun
    finally:
        gc.enable()


def _do_fixed_work() -> int:
    total = 0
    for number in range(200_000):
        total += number * number % 7
    return total
