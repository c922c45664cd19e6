"""Questions to read formulas for, with arrays in which no symmetry hides a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from numpy.typing import NDArray

from grader.domain.shapes import make_shape
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula, read_formula
from grader.formula.typed.scope import Family, FormulaScope

Array = NDArray[Any]

#: The value of a formula by NumPy.
Expected = Callable[["Given"], Any]

#: A question, a formula for it, and its value.
Row = tuple["Given", str, Expected]

#: What a constant declared as large is here.
LARGE = 100.0


@dataclass(frozen=True)
class Given:
    """A scope and what its names stand for; `given.mu_a` is the array of a member."""

    scope: FormulaScope
    values: dict[str, Array]
    indices: dict[str, int] = field(default_factory=dict)

    def environment(self, formula: Formula | None = None) -> Environment:
        large = formula.large if formula else ()
        return Environment(
            {name: value[None, None] for name, value in self.values.items()}
            | {name: np.full((1, 1), LARGE) for name in large},
            {name: np.array([index]) for name, index in self.indices.items()},
        )

    def read(self, text: str, named: str = "q") -> Formula:
        return read_formula(text, self.scope, named=named)

    def value(self, text: str, named: str = "q") -> Array:
        formula = self.read(text, named)
        result = formula.evaluate(self.environment(formula), finite=True)
        assert result.shape == (1, 1, *formula.shape.axes)
        return np.asarray(result[0, 0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.scope.constants:
            return self.scope.constants[name]
        if name in self.values:
            return self.values[name]
        base, _, label = name.partition("_")
        family = self.scope.families[base]
        place = family.labels.get(label, label)
        position = self.indices[place] if place in self.indices else int(place)
        if label.isdecimal():
            position -= 1
        source = self.values[family.source]
        return source[:, position] if family.by_columns else source[position]


def as_parameters(rows: Iterable[Row]) -> list[ParameterSet]:
    """Rows of a table, each called by its formula."""
    return [pytest.param(*row, id=row[1]) for row in rows]


def assert_value(given: Given, text: str, expected: Expected, named: str) -> None:
    wanted = np.asarray(expected(given), dtype=float)
    value = given.value(text, named)

    assert value.shape == wanted.shape
    np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-13)


def make_given(
    values: dict[str, Array],
    *,
    families: dict[str, Family] | None = None,
    indices: dict[str, int] | None = None,
    **constants: float,
) -> Given:
    drawn = indices or {}
    count = int(constants.get("n", 0))
    scope = FormulaScope(constants=constants, indices=dict.fromkeys(drawn, count)).with_shapes(
        {name: make_shape(value.shape) for name, value in values.items()}
    )
    known = {**scope.families, **(families or {})}
    return Given(
        FormulaScope(scope.shapes, scope.constants, known, scope.indices), values, dict(drawn)
    )


_normal = np.random.default_rng(20_250_101).standard_normal

#: As 3b: keys as rows, two of them named.
KEYS = make_given({"k": _normal((5, 4))}, indices={"a": 3, "b": 1}, n=5, d=4)

#: As 3c: means as rows, two of them named.
MEANS = make_given({"mu": _normal((5, 4))}, indices={"a": 2, "b": 4}, n=5, d=4)

#: As 1c: the named indices are called i and j, which papers also use for sums.
PAIR = make_given({"k": _normal((5, 4)), "v": _normal((5, 3))}, indices={"i": 4, "j": 0}, n=5, d=4)

#: As b-i: two bases, whose vectors are columns.
BASES = make_given(
    {"A": _normal((5, 3)), "B": _normal((5, 2))},
    families={
        "a": Family("A", 3, 5, by_columns=True, numbered=True),
        "b": Family("B", 2, 5, by_columns=True, numbered=True),
    },
    d=5, m=3, p=2,
)  # fmt: skip

#: As 1d: bases called S and T, although ^T is the transpose.
SIDES = make_given(
    {"S": _normal((5, 3)), "T": _normal((5, 2))},
    families={
        "s": Family("S", 3, 5, by_columns=True, numbered=True),
        "t": Family("T", 2, 5, by_columns=True, numbered=True),
    },
    d=5,
)  # fmt: skip

#: As 3e: four vectors named by letters, three inputs by numbers, and a number that was drawn.
INPUTS = make_given(
    {"u": _normal((4, 6)), "x": _normal((3, 6)), "beta": np.array(7.3)},
    families={
        "u": Family("u", 4, 6, labels={"a": 0, "b": 1, "c": 2, "d": 3}),
        "x": Family("x", 3, 6, numbered=True),
    },
    d=6,
)  # fmt: skip

ALL = (KEYS, MEANS, PAIR, BASES, SIDES, INPUTS)
