"""A watch on the wall clock, which stamps attempts: a step of it is told to operators.

Whoever sets the clock of the machine moves every deadline. The monotonic clock, which nobody can
set, shows when that happens; a clock that is slewed, as time servers do, is no step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from grader.web.ops.logs import Logger
from grader.web.ops.metrics import Metrics

#: Between two looks a clock is slewed by a few milliseconds at most.
_MIN_STEP_SECONDS = 1.0


@dataclass(slots=True)
class ClockWatch:
    """Compares the wall clock with the monotonic clock, from its making on."""

    clock: Callable[[], datetime]
    logs: Logger
    metrics: Metrics
    monotonic: Callable[[], float] = time.monotonic
    _ahead: float = field(init=False)

    def __post_init__(self) -> None:
        self._ahead = self._measure()

    def look(self) -> None:
        """Log and count a step since the last look; call it every second or so."""
        ahead = self._measure()
        step, self._ahead = ahead - self._ahead, ahead
        if abs(step) >= _MIN_STEP_SECONDS:
            self.metrics.clock_steps.inc()
            self.logs.warning("clock stepped", seconds=round(step, 3))

    def _measure(self) -> float:
        """How far the wall clock is ahead of the monotonic one, which began at some moment."""
        return self.clock().timestamp() - self.monotonic()
