"""The draws of a variant: each gives one or several named quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import NUMBER, Shape, make_column_shape, make_matrix_shape
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.typed.tree import Node

Array = NDArray[Any]

# After this many tries, a draw with a condition is taken to be impossible.
_MAX_TRIES = 10_000


class DrawFailed(Exception):
    """A draw's condition cannot be met; the rubric must be changed."""


@dataclass(frozen=True, slots=True)
class DistinctIndices:
    """Different indices, each in 0 … below - 1."""

    count: int
    below: int

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One index per name."""
        return [np.asarray(i) for i in generator.permutation(self.below)[: self.count]]


@dataclass(frozen=True, slots=True)
class _MatrixRule:
    rows: int
    columns: int

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each name."""
        return [make_matrix_shape(self.rows, self.columns)]


@dataclass(frozen=True, slots=True)
class Orthonormal(_MatrixRule):
    """Rows that are orthonormal: an (n, d) slice of a Haar-random rotation, n <= d."""

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One matrix."""
        basis, upper = np.linalg.qr(generator.standard_normal((self.columns, self.rows)))
        # Without the signs QR would favour some rotations over others.
        return [np.ascontiguousarray((basis * np.sign(np.diag(upper))).T)]


@dataclass(frozen=True, slots=True)
class Orthogonal(_MatrixRule):
    """Rows that are mutually orthogonal, all of the same length."""

    norm: Node

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One matrix."""
        (frame,) = Orthonormal(self.rows, self.columns).draw(generator, drawn)
        return [frame * evaluate_finite(self.norm, drawn)[0, 0]]


@dataclass(frozen=True, slots=True)
class OrthonormalBases:
    """Bases of mutually orthogonal subspaces, the basis vectors as columns."""

    rows: int
    columns: tuple[int, ...]

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One matrix per name."""
        (frame,) = Orthonormal(sum(self.columns), self.rows).draw(generator, drawn)
        ends = np.cumsum(self.columns)[:-1]
        return [np.ascontiguousarray(part.T) for part in np.split(frame, ends)]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each name."""
        return [make_matrix_shape(self.rows, columns) for columns in self.columns]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent standard normals."""

    axes: tuple[int, ...]

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One vector or matrix."""
        return [generator.standard_normal(self.axes)]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each name."""
        return [
            make_column_shape(*self.axes) if len(self.axes) == 1 else make_matrix_shape(*self.axes)
        ]


@dataclass(frozen=True, slots=True)
class UnitRows(_MatrixRule):
    """Unit vectors as rows; no two have a cosine above `max_cosine` in magnitude."""

    max_cosine: float

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One matrix, built row by row: a row too close to an earlier one is drawn again."""
        chosen = np.empty((0, self.columns))
        for _ in range(_MAX_TRIES):
            row = generator.standard_normal(self.columns)
            row /= np.linalg.norm(row)
            if np.abs(chosen @ row).max(initial=0.0) <= self.max_cosine:
                chosen = np.vstack([chosen, row])
            if len(chosen) == self.rows:
                return [chosen]
        raise DrawFailed(
            f"{self.rows} unit vectors in {self.columns} dimensions with cosines of at most "
            f"{self.max_cosine} were not found"
        )


@dataclass(frozen=True, slots=True)
class Uniform:
    """A number between two bounds."""

    low: float
    high: float

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """One number."""
        return [np.asarray(generator.uniform(self.low, self.high))]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each name."""
        return [NUMBER]


@dataclass(frozen=True, slots=True)
class Computed:
    """A quantity computed from those drawn before it."""

    node: Node

    def draw(self, generator: np.random.Generator, drawn: Environment) -> list[Array]:
        """The formula's value."""
        return [evaluate_finite(self.node, drawn)[0, 0]]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each name."""
        return [self.node.shape]


DrawRule = (
    DistinctIndices
    | Orthonormal
    | Orthogonal
    | OrthonormalBases
    | Gaussian
    | UnitRows
    | Uniform
    | Computed
)


@dataclass(frozen=True, slots=True)
class Draw:
    """One rule, and the names of its values."""

    names: tuple[str, ...]
    rule: DrawRule
