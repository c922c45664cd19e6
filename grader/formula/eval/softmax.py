"""Softmax: weights that sum to one, computed so that nothing overflows.

A processor takes longer for an exponential than for anything else here. Where scores differ from
fixed centres by a little noise only, `exp(centre + noise)` is `exp(centre)`, once for all key sets,
times the first terms of the exponential series of the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.formula.eval.buffers import Buffers, select_part, split_for_cache

Array = NDArray[Any]

# Of what is less, the exponential is nothing next to 1.
_LEAST_EXPONENT = -700.0
# Scores this far from zero have exponentials that do not overflow, and differ by so little that
# every weight is something.
_MAX_NEAR_ZERO = 350.0

# What the exponential series leaves out, relative to the exponential; rounding the scores does as
# much. From the seventh term on, the series takes as long as the exponential itself.
_MAX_REMAINDER = 1e-14
_MAX_DEGREE = 6
# By degree, from one on: the largest number of which the series leaves out no more than that.
_MAX_ARGUMENTS = [
    (_MAX_REMAINDER * math.factorial(degree + 1)) ** (1 / (degree + 1))
    for degree in range(1, _MAX_DEGREE + 1)
]


def softmax(scores: Array, *, spare: bool = False) -> Array:
    """Softmax over the last axis; the largest score is taken away first, so nothing overflows.

    With `spare` the scores are overwritten.
    """
    largest = scores.max(axis=-1, keepdims=True)
    shifted: Array = np.subtract(scores, largest, out=scores if spare else None)
    # A processor takes ten times longer to find that by itself. The weight is exactly zero, so that
    # nobody takes its logarithm for a finite number.
    is_something = shifted >= _LEAST_EXPONENT
    np.maximum(shifted, _LEAST_EXPONENT, out=shifted)
    for rows in split_for_cache(len(shifted), shifted[0].size):
        part = shifted[rows]
        np.exp(part, out=part)
        _divide_by_sum(part, axis=-1)
    shifted *= is_something
    return shifted


def softmax_around(centres: Array, noise: Array, *, reach: Array, buffers: Buffers) -> Array:
    """Softmax over the keys of `centres + noise`; the noise is overwritten.

    Parameters
    ----------
    centres : (B or 1, n, 1) array
    noise : (B, n, S) array
    reach : (B,) array
        For every answer a number that its noise stays below.

    Returns
    -------
    (B, n, S) array of weights, NaN where a score is not finite.
    """
    for rows in split_for_cache(len(noise), noise[0].size):
        part = select_part(centres, rows)
        _replace_by_weights(part, noise[rows], float(np.maximum.reduce(reach[rows])), buffers)
    return noise


def _replace_by_weights(centres: Array, noise: Array, reach: float, buffers: Buffers) -> None:
    # A comparison with NaN is false, so that NaN comes out as such.
    farthest = float(np.maximum.reduce(np.abs(centres), axis=None))
    is_near_zero = farthest + reach < _MAX_NEAR_ZERO
    if is_near_zero and reach <= _MAX_ARGUMENTS[-1]:
        series = _expand_exponential(noise, reach, buffers.scratch(noise.shape))
        np.multiply(series, np.exp(centres), out=noise)
        _divide_by_sum(noise, axis=1)
        return
    noise += centres
    if is_near_zero:
        # Nobody need look for the largest score of every key set.
        np.exp(noise, out=noise)
        _divide_by_sum(noise, axis=1)
    else:
        softmax(noise.swapaxes(1, 2), spare=True)


def _expand_exponential(values: Array, reach: float, out: Array) -> Array:
    """A multiple of the exponential of small numbers, by the first terms of its series.

    The multiple is d!, where d is the degree: then the highest power needs no factor.
    """
    degree = bisect_left(_MAX_ARGUMENTS, reach) + 1
    factor = float(degree)
    np.add(values, factor, out=out)
    for power in range(degree - 1, 0, -1):
        factor *= power
        out *= values
        out += factor
    return out


def _divide_by_sum(weights: Array, *, axis: int) -> None:
    totals = np.add.reduce(weights, axis=axis, keepdims=True)
    if totals.size == len(totals):
        weights /= totals
    else:
        # On many key sets, one division for each costs far less than one for each weight.
        weights *= np.reciprocal(totals, out=totals)
