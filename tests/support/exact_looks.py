"""How a share is decided on a schedule of looks, calculated exactly and apart from the engine.

All counts are convolved, none is cut off, and a share is decided by how many standard errors of the
needed share the count is away from it, without any interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.sequential import Threshold

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How probable each end is, and how many key sets are drawn on average."""

    awarded: float
    refused: float
    undecided: float
    key_sets: float


def compute_outcomes(threshold: Threshold, counts: Sequence[int], true_share: float) -> Outcomes:
    """What becomes of one share that is looked at until it is decided."""
    awarded = refused = key_sets = 0.0
    open_counts = np.ones(1)
    for before, tried in pairwise((0, *counts)):
        key_sets += float(open_counts.sum()) * (tried - before)
        open_counts = _convolve(open_counts, _compute_binomial(tried - before, true_share))
        errors = _count_errors(np.arange(tried + 1), tried, threshold.share)
        is_awarded, is_refused = _decide(errors, threshold)
        awarded += float(open_counts[is_awarded].sum())
        refused += float(open_counts[is_refused].sum())
        open_counts = np.where(is_awarded | is_refused, 0, open_counts)
    return Outcomes(awarded, refused, float(open_counts.sum()), key_sets)


def compute_errors(threshold: Threshold, counts: Sequence[int]) -> tuple[float, float]:
    """How probable it is at the threshold that a share is ever awarded, and ever refused."""
    never = 1e6
    award_only = Threshold(threshold.share, threshold.z_award, never)
    refuse_only = Threshold(threshold.share, never, threshold.z_refuse)
    return (
        compute_outcomes(award_only, counts, threshold.share).awarded,
        compute_outcomes(refuse_only, counts, threshold.share).refused,
    )


def compute_errors_with_left_out(
    threshold: Threshold, counts: Sequence[int], kept: float
) -> tuple[float, float]:
    """The same errors where each key set is kept with a probability and left out otherwise."""
    # The two sides need separate states, because a share may be awarded after it was refused.
    states = [np.ones((1, 1)), np.ones((1, 1))]
    found = [0.0, 0.0]
    first_left_out = first_failed = 0
    for before, tried in pairwise((0, *counts)):
        added = tried - before
        left_out = _list_likely(added, 1 - kept)
        failed = _list_likely(added, kept * (1 - threshold.share))
        step = _compute_trinomial(added, left_out, failed, kept, threshold.share)
        first_left_out += int(left_out[0])
        first_failed += int(failed[0])
        for side in range(2):
            states[side] = _convolve(states[side], step)
        rows, columns = (np.arange(size) for size in states[0].shape)
        counted = np.maximum(tried - first_left_out - rows[:, None], 1)
        errors = _count_errors(counted - first_failed - columns, counted, threshold.share)
        for side, is_decided in enumerate(_decide(errors, threshold)):
            found[side] += float(states[side][is_decided].sum())
            states[side] = np.where(is_decided, 0, states[side])
    return found[0], found[1]


def _count_errors(passed: Array, tried: Array | int, share: float) -> Array:
    """By how many standard errors of a share the counts are above it."""
    return np.asarray((passed - tried * share) / np.sqrt(tried * share * (1 - share)))


def _decide(errors: Array, threshold: Threshold) -> tuple[Array, Array]:
    """Which counts are awarded and which refused; at exactly z, a count is at the threshold."""
    slack = 1e-9
    return errors >= threshold.z_award - slack, errors < -threshold.z_refuse - slack


def _convolve(left: Array, right: Array) -> Array:
    """The distribution of a sum; by Fourier transforms, which are exact to about 1e-17."""
    shape = [a + b - 1 for a, b in zip(left.shape, right.shape, strict=True)]
    axes = tuple(range(len(shape)))
    product = np.fft.rfftn(left, shape, axes) * np.fft.rfftn(right, shape, axes)
    return np.maximum(np.fft.irfftn(product, shape, axes), 0)


def _compute_binomial(tried: int, share: float) -> Array:
    passed = np.arange(tried + 1)
    factorials = _compute_log_factorials(tried)
    ways = factorials[-1] - factorials - factorials[::-1]
    return np.asarray(np.exp(ways + passed * np.log(share) + passed[::-1] * np.log(1 - share)))


def _compute_trinomial(
    tried: int, left_out: Array, failed: Array, kept: float, share: float
) -> Array:
    """Of shape (left out, failed)."""
    left_out = left_out[:, None]
    passed = tried - left_out - failed
    factorials = _compute_log_factorials(tried)
    logarithm = (
        factorials[-1]
        - factorials[left_out]
        - factorials[failed]
        - factorials[np.maximum(passed, 0)]
        + left_out * np.log(1 - kept)
        + failed * np.log(kept * (1 - share))
        + passed * np.log(kept * share)
    )
    return np.where(passed >= 0, np.exp(logarithm), 0)


def _list_likely(tried: int, share: float) -> Array:
    """All counts but for a probability that does not matter: two axes are too large otherwise."""
    mean = tried * share
    reach = 7 * np.sqrt(mean * (1 - share)) + 25
    return np.arange(max(0, int(mean - reach)), min(tried, int(mean + reach)) + 1)


def _compute_log_factorials(largest: int) -> Array:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])
