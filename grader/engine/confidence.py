"""Shares of key sets with confidence intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.domain.verdicts import Interval

#: Half the width of the interval in standard deviations: a share exactly at a threshold is wrongly
#: decided in less than one case in a thousand.
Z = 3.3


def compute_wilson_bounds(
    passed: ArrayLike, tried: ArrayLike, z: float = Z
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of Wilson's score interval for shares; [0, 1] where nothing was tried."""
    count = np.maximum(tried, 1)
    share = np.asarray(passed) / count
    centre = share + z * z / (2 * count)
    reach = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    # At a share of 0 or 1 the interval ends there; rounding must not push it aside.
    low = np.maximum(0.0, np.minimum((centre - reach) / scale, share))
    high = np.minimum(1.0, np.maximum((centre + reach) / scale, share))
    is_tried = np.asarray(tried) > 0
    return np.where(is_tried, low, 0.0), np.where(is_tried, high, 1.0)


def compute_wilson_interval(passed: int, tried: int, z: float = Z) -> Interval:
    """Wilson's score interval for one share."""
    low, high = compute_wilson_bounds(passed, tried, z)
    return Interval(float(low), float(high))
