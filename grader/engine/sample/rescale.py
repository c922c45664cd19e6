"""Answers of absurd size, brought to a size that can be computed with.

Dividing by a power of two changes no digit. What passes through a softmax only is saturated long
before, so that its weights stay as they are; without this, queries beyond 1e13 would be decided by
the rounding errors of whatever machine judges them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]

#: Beyond this power of two, about 1e12, a query is shrunk: its scores are then exact to 1e-4.
SATURATED_EXPONENT = 40
#: Beyond this power of two, about 1e100, anything is shrunk that overflows.
OVERFLOW_EXPONENT = 332


def scale_down(values: Array, largest_exponent: int) -> tuple[Array, NDArray[np.bool_]]:
    """Divide rows beyond 2^largest_exponent by a power of two; also tells which rows those are."""
    largest = np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=1.0)
    exponents = np.frexp(np.where(np.isfinite(largest), largest, 1.0))[1]
    steps = np.minimum(largest_exponent - exponents, 0)
    if not steps.any():
        return values, np.zeros(len(values), dtype=bool)
    spread = steps.reshape(-1, *[1] * (values.ndim - 1))
    return np.ldexp(values, spread), steps < 0


def scale_down_answers(
    environment: Environment, names: Iterable[str], largest_exponent: int
) -> tuple[Environment, NDArray[np.bool_]]:
    """Shrink the named arrays of all answers; also tells which answers were shrunk."""
    bound = 2.0**largest_exponent
    large = {
        name: value
        for name in names
        if isinstance(value := environment.values.get(name), np.ndarray)
        and not (value.max() < bound and value.min() > -bound)
    }
    shrunk: NDArray[np.bool_] = np.zeros(1, dtype=bool)
    if not large:
        return environment, shrunk
    values = dict(environment.values)
    for name, value in large.items():
        values[name], rows = scale_down(value, largest_exponent)
        shrunk = shrunk | rows
    return replace(environment, values=values), shrunk
