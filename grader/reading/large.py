"""Constants that a student declares large, and the sizes at which a formula is tried.

`C (k_a + k_b), C >> 0` claims that from some size on every larger C will do, and with two such
constants that every combination will: they are independent of each other. A formula is tried at
the largest sizes that doubles can tell apart. Beyond, `C + log(3)` would be the same number as `C`,
and a wrong answer would be lost in rounding; a logarithm, however, may need sizes of 1e300.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula

Array = NDArray[Any]

#: The sizes that may be tried, from the smallest that deserves to be called large.
RUNGS = (10.0, 20.0, 50.0, 1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12, 1e25, 1e50, 1e100, 1e200, 1e300)
#: How many of them are tried.
MAX_RUNGS = 3
#: Values up to this size are exact to about 1e-4; beyond, small terms are lost beside large ones.
MAX_RESOLVED = 2.0**40
# With more constants than this, not every combination of two sizes is tried.
_MAX_CROSSED = 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """A value for each constant declared large; `rung` is the place of the smallest of them."""

    values: Mapping[str, float]
    rung: int = 0


#: For answers without such constants.
NO_SIZES = Sizes({})


def choose_rungs(formulas: Sequence[Formula], variants: Environment) -> tuple[float, ...]:
    """The largest sizes at which the values of formulas are resolved, in rising order.

    Where no size is, as for `exp(C^2)`, the smallest at which all values are finite; where there is
    none of these either, the smallest of all.
    """
    resolved: list[float] = []
    finite: list[float] = []
    for rung in reversed(RUNGS):
        largest = max(_find_largest(each, variants, rung) for each in formulas)
        if largest <= MAX_RESOLVED:
            resolved.append(rung)
        elif np.isfinite(largest):
            finite.append(rung)
        if len(resolved) == MAX_RUNGS:
            break
    return tuple(reversed(resolved or finite[-MAX_RUNGS:])) or RUNGS[:1]


def _find_largest(formula: Formula, variants: Environment, rung: float) -> float:
    """The largest magnitude in a formula's value, infinite where it is not finite."""
    values = evaluate_formula(formula, variants, dict.fromkeys(formula.large, rung))
    largest = float(np.abs(values).max())
    return largest if np.isfinite(largest) else np.inf


def list_sizes(formulas: Iterable[Formula], variants: Environment) -> tuple[Sizes, ...]:
    """What the constants declared large are set to: combinations of sizes, the smallest first.

    A constant has the same size wherever its name stands in an answer.
    """
    with_large = [each for each in formulas if each.large]
    if not with_large:
        return (NO_SIZES,)
    names = sorted({name for each in with_large for name in each.large})
    rungs = choose_rungs(with_large, variants)
    return tuple(
        Sizes(dict(zip(names, values, strict=True)), rung)
        for rung, low in enumerate(rungs)
        for values in _list_combinations(len(names), low, rungs[-1])
    )


def select_typical(sizes: Sequence[Sizes]) -> Sizes:
    """All constants at one size for which the formula must work if it is right at all."""
    rungs = sorted({each.rung for each in sizes})
    wanted = rungs[-2] if len(rungs) > 1 else rungs[-1]
    return next(each for each in sizes if each.rung == wanted)


def _list_combinations(count: int, low: float, top: float) -> Iterator[tuple[float, ...]]:
    """Combinations of two sizes with the low one in them, first the one where all are low."""
    if low == top:
        yield (top,) * count
    elif count <= _MAX_CROSSED:
        yield from [each for each in product((low, top), repeat=count) if low in each]
    else:
        yield (low,) * count
        for place in range(count):
            yield tuple(top if each == place else low for each in range(count))
            yield tuple(low if each == place else top for each in range(count))


def evaluate_formula(
    formula: Formula, variants: Environment, sizes: Mapping[str, float], *, finite: bool = False
) -> Array:
    """The value of a formula on variants, of shape (variants, …).

    Parameters
    ----------
    sizes
        The values of the constants that the formula declares large; others are ignored.

    Raises
    ------
    FormulaError
        With `finite`, where a value is not finite.
    """
    if formula.large:
        large = {name: np.full((1, 1), sizes[name]) for name in formula.large}
        variants = Environment({**variants.values, **large}, variants.indices)
    return formula.evaluate(variants, finite=finite)[:, 0]
