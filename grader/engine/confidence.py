"""Shares with confidence intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.domain.verdicts import Interval


def compute_wilson_low(passed: ArrayLike, tried: ArrayLike, z: float) -> NDArray[np.float64]:
    """The lower end of Wilson's score interval for shares; 0 where none passed or none was tried.

    The measured share lies `z` standard errors of this share above it.
    """
    passed, tried = np.asarray(passed), np.asarray(tried)
    square = z * z
    variance = passed * (tried - passed) / np.maximum(tried, 1)
    reach = z * np.sqrt(variance + square / 4)
    return np.asarray((passed + square / 2 - reach) / (tried + square))


def compute_wilson_high(passed: ArrayLike, tried: ArrayLike, z: float) -> NDArray[np.float64]:
    """The upper end of Wilson's score interval for shares; 1 where all passed or none was tried."""
    # What the lower end of the share of failures leaves over is exact at 1.
    return 1 - compute_wilson_low(np.asarray(tried) - passed, tried, z)


def compute_wilson_interval(passed: int, tried: int, z: float) -> Interval:
    """Wilson's score interval for one share."""
    low, high = compute_wilson_low(passed, tried, z), compute_wilson_high(passed, tried, z)
    return Interval(float(low), float(high))
