"""When a share is decided, if more key sets are drawn while it is not.

A level is awarded as soon as the lower end of the share's interval reaches the level's share, and
refused as soon as the upper end is below it. Every look is another chance to be wrong, and counts
with a share near 1 are skewed. So each end has its own z, chosen by exact calculation for the whole
schedule of looks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.domain.verdicts import Interval
from grader.engine.confidence import compute_wilson_high, compute_wilson_low

#: The greatest probability that a true share exactly at the threshold is ever awarded, and the same
#: for refused.
MAX_ERROR = 0.0005

#: The z for one look at a normal count. Where few counts can be beyond the threshold, a smaller z
#: would keep the error, but the interval that is shown would be too narrow.
MIN_Z = 3.29

#: Enough for any share and ten looks, by Chebyshev's inequality.
_MAX_Z = 200

_STEPS_PER_UNIT = 100

_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A share that is needed, and the z's of the interval by which it is decided."""

    share: float
    z_award: float
    z_refuse: float

    def is_awarded(self, passed: ArrayLike, tried: ArrayLike) -> _Flags:
        """Where the whole interval reaches the share."""
        return np.asarray(compute_wilson_low(passed, tried, self.z_award) >= self.share)

    def is_refused(self, passed: ArrayLike, tried: ArrayLike) -> _Flags:
        """Where the whole interval is below the share."""
        return np.asarray(compute_wilson_high(passed, tried, self.z_refuse) < self.share)

    def compute_interval(self, passed: int, tried: int) -> Interval:
        """The interval of one measured share."""
        low = compute_wilson_low(passed, tried, self.z_award)
        return Interval(float(low), float(compute_wilson_high(passed, tried, self.z_refuse)))

    def compute_limits(self, tried: int) -> CountLimits:
        """The counts from which on, and up to which, the share is decided."""
        return _compute_limits(self, tried)


class CountLimits(NamedTuple):
    """A count is awarded if it is at least `awarded_from`, and refused if at most `refused_to`."""

    awarded_from: int
    refused_to: int


@lru_cache(maxsize=4096)
def _compute_limits(threshold: Threshold, tried: int) -> CountLimits:
    # Both ends of the interval rise with the count, so that each decision has one limit.
    passed = np.arange(tried + 1)
    return CountLimits(
        awarded_from=tried + 1 - int(np.count_nonzero(threshold.is_awarded(passed, tried))),
        refused_to=int(np.count_nonzero(threshold.is_refused(passed, tried))) - 1,
    )


@lru_cache(maxsize=1024)
def compute_threshold(
    share: float, counts: tuple[int, ...], *, is_filtered: bool = False
) -> Threshold:
    """The threshold with the smallest z's that keep each error within `MAX_ERROR`.

    The errors are the probabilities that a true share equal to `share` is ever awarded, and ever
    refused. "Ever" includes looks after a decision: an answer that another criterion leaves open is
    decided again on more key sets. The z's are multiples of 0.01, and at least `MIN_Z`.

    Parameters
    ----------
    share
        More than 0, at most 1. A share of 1 is never awarded, because no interval reaches it.
    counts
        How many key sets have been drawn at each look, in increasing order.
    is_filtered
        Whether key sets may be left out. The z's are chosen for the nominal counts, but then fewer
        are tried, which changes the errors. So each is kept within half of `MAX_ERROR` at the
        nominal counts. For shares from 0.5 to 0.99 it then stays within `MAX_ERROR` if at least
        half of 500 key sets or more are kept, or 70 % of a smaller number.
    """
    limit = MAX_ERROR / 2 if is_filtered else MAX_ERROR
    looks = list(_list_looks(share, counts))
    return Threshold(
        share,
        z_award=_find_smallest_z(looks, share, limit, Threshold.is_awarded),
        z_refuse=_find_smallest_z(looks, share, limit, Threshold.is_refused),
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """A look when `tried` key sets have been tried.

    `probabilities` tells how probable it is that `first`, `first` + 1, … of those that were added
    pass.
    """

    tried: int
    first: int
    probabilities: NDArray[np.float64]


def _list_looks(share: float, counts: Sequence[int]) -> Iterator[_Look]:
    for before, tried in pairwise((0, *counts)):
        added = tried - before
        mean = added * share
        # All counts further away have a probability below 1e-13, by Bernstein's inequality.
        reach = 8 * math.sqrt(mean * (1 - share)) + 30
        passed = range(max(0, math.floor(mean - reach)), min(added, math.ceil(mean + reach)) + 1)
        probabilities = [_compute_probability(each, added, share) for each in passed]
        yield _Look(tried, passed[0], np.array(probabilities))


def _compute_probability(passed: int, tried: int, share: float) -> float:
    """The binomial probability of a count."""
    failed = tried - passed
    if share == 1:
        return float(failed == 0)
    ways = math.lgamma(tried + 1) - math.lgamma(passed + 1) - math.lgamma(failed + 1)
    return math.exp(ways + passed * math.log(share) + failed * math.log1p(-share))


_Decision = Callable[[Threshold, NDArray[Any], int], _Flags]


def _find_smallest_z(
    looks: Sequence[_Look], share: float, limit: float, decision: _Decision
) -> float:
    steps = range(round(MIN_Z * _STEPS_PER_UNIT), _MAX_Z * _STEPS_PER_UNIT)

    def is_within_limit(step: int) -> bool:
        z = step / _STEPS_PER_UNIT
        return _compute_error(looks, Threshold(share, z, z), decision) <= limit

    return (steps.start + bisect_left(steps, True, key=is_within_limit)) / _STEPS_PER_UNIT


def _compute_error(looks: Sequence[_Look], threshold: Threshold, decision: _Decision) -> float:
    """The probability that the decision is taken at any of the looks."""
    error, first, probabilities = 0.0, 0, np.ones(1)
    for look in looks:
        first += look.first
        probabilities = np.convolve(probabilities, look.probabilities)
        is_decided = decision(threshold, first + np.arange(len(probabilities)), look.tried)
        error += float(probabilities[is_decided].sum())
        probabilities = np.where(is_decided, 0.0, probabilities)
    return error
