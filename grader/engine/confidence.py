"""Shares of key sets with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from grader.domain.verdicts import Interval

#: Half the width of the interval in standard deviations: a share exactly at a threshold is wrongly
#: decided in less than one case in a thousand.
Z = 3.3


@lru_cache(maxsize=4096)
def compute_wilson_interval(passed: int, tried: int, z: float = Z) -> Interval:
    """Wilson's score interval for a share; [0, 1] if nothing was tried."""
    if tried == 0:
        return Interval(0.0, 1.0)
    share = passed / tried
    centre = share + z * z / (2 * tried)
    reach = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    scale = 1 + z * z / tried
    low, high = (centre - reach) / scale, (centre + reach) / scale
    # At a share of 0 or 1 the interval ends there; rounding must not shift it.
    return Interval(max(0.0, min(low, share)), min(1.0, max(high, share)))


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the tried key sets passed."""

    passed: int
    tried: int

    @property
    def value(self) -> float:
        """The share; zero if nothing was tried."""
        return self.passed / self.tried if self.tried else 0.0

    @property
    def interval(self) -> Interval:
        """The share's confidence interval."""
        return compute_wilson_interval(self.passed, self.tried)

    def clears(self, threshold: float) -> bool:
        """Whether the whole interval reaches the threshold."""
        return self.interval.low >= threshold

    def misses(self, threshold: float) -> bool:
        """Whether the whole interval stays below the threshold."""
        return self.interval.high < threshold
