"""Where and at which size answers are sampled.

Answers of absurd size are brought to a size that can be computed with. Dividing by a power of two
changes no digit, and what passes through a softmax only is saturated long before; without this,
queries beyond 1e13 would be decided by the rounding errors of the machine that judges them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.keysets import GRADING, NoiseSource
from grader.engine.random.noise import NoiseBank
from grader.engine.sample.plans import Plan
from grader.formula.eval.buffers import split_for_products
from grader.formula.eval.evaluate import Environment

#: Bounds are kept with this relative slack, so that the last bits of a matrix product, which
#: differ between machines and batch sizes, never decide.
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class SamplingContext:
    """Where answers are judged: the question's key and the noise."""

    key: bytes
    bank: NoiseBank
    purpose: str = GRADING

    def source(self, first: int, last: int) -> NoiseSource:
        """A stretch of key sets."""
        return NoiseSource(self.bank, self.key, self.purpose, first, last)


def count_answers(environment: Environment) -> int:
    """How many answers an environment holds."""
    lengths = [len(value) for value in environment.values.values() if isinstance(value, np.ndarray)]
    return max(lengths, default=1)


def split_into_batches(plan: Plan, *, answers: int, key_sets: int) -> list[slice]:
    """Cut answers into parts whose arrays stay near the cache."""
    return split_for_products(answers, key_sets * plan.width)


def to_nine_digits(value: float) -> float:
    """A number to nine digits: as many as are the same on every machine.

    What is left of a zero after rounding errors is not: it counts as zero.
    """
    return float(f"{value:.9g}") if abs(value) >= 1e-12 else 0.0


Array = NDArray[Any]

#: Beyond this power of two, about 1e12, a query is shrunk: its scores are then exact to 1e-4.
SATURATED_EXPONENT = 40
#: Beyond this power of two, about 1e100, anything is shrunk that overflows.
OVERFLOW_EXPONENT = 332


#: No answer was shrunk, however many there are.
NONE_SHRUNK = np.zeros(1, dtype=bool)
NONE_SHRUNK.flags.writeable = False


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
    """Shrink the named arrays of all answers; also tells which answers were shrunk.

    Where none was, that is `NONE_SHRUNK`, of shape (1,).
    """
    bound = 2.0**largest_exponent
    large = {
        name: value
        for name in names
        if isinstance(value := environment.values.get(name), np.ndarray)
        and not np.maximum.reduce(np.abs(value), axis=None) < bound
    }
    if not large:
        return environment, NONE_SHRUNK
    values = dict(environment.values)
    shrunk = np.zeros(count_answers(environment), dtype=bool)
    for name, value in large.items():
        values[name], rows = scale_down(value, largest_exponent)
        shrunk = shrunk | rows
    return replace(environment, values=values), shrunk
