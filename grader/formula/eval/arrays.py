"""Arrays with two leading axes, (answers, key sets), each of full length or 1.

Products by their kind, rows of matrices, and matrices that are never built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape
from grader.formula.typed.tree import Product

Array = NDArray[Any]


class LazyMatrix(ABC):
    """A matrix that is never built: it can be multiplied and can give single rows.

    Sampled key sets are of this kind, because building them costs far more than using them.
    """

    __slots__ = ()

    @abstractmethod
    def product(self, vectors: Array) -> Array:
        """The costly part of `times`, which can be taken for many answers beforehand."""

    @abstractmethod
    def times(self, vectors: Array, product: Array | None = None) -> Array:
        """The matrix times a column, for every answer and key set."""

    @abstractmethod
    def row(self, position: int | NDArray[np.intp]) -> Array:
        """One row, or for every answer its own."""

    @abstractmethod
    def row_dot(self, position: int | NDArray[np.intp], vectors: Array) -> Array:
        """One row, or for every answer its own, times a vector."""

    @abstractmethod
    def whole(self) -> Array:
        """The matrix itself, built after all."""


def multiply(product: Product, left: Array, right: Array, shape: Shape) -> Array:
    """A product of two arrays; `shape` is that of the result."""
    match product:
        case Product.SCALE:
            # The number is the one with fewer axes; two numbers have equally many.
            if left.ndim < right.ndim:
                return np.asarray(add_axes(left, shape) * right)
            if left.ndim > right.ndim:
                return np.asarray(left * add_axes(right, shape))
            return np.asarray(left * right)
        case Product.DOT:
            return np.asarray(np.einsum("...i,...i->...", left, right))
        case Product.OUTER:
            return np.asarray(left[..., :, None] * right[..., None, :])
        case Product.MATRIX_COLUMN:
            return multiply_columns(left, right)
        case Product.ROW_MATRIX:
            return multiply_columns(right.swapaxes(-1, -2), left)
        case Product.MATRIX_MATRIX:
            return np.asarray(np.matmul(left, right))
        case _:
            assert_never(product)


def add_axes(number: Array, shape: Shape) -> Array:
    """Give a number as many axes as the value it meets."""
    if not shape.axes:
        return number
    return number.reshape(*number.shape, *[1] * len(shape.axes))


def take_row(matrices: Array, position: int | NDArray[np.intp]) -> Array:
    """One row of every matrix; with an array of positions, each answer its own row."""
    if isinstance(position, int):
        return matrices[:, :, position]
    if len(position) == 1:
        return matrices[:, :, int(position[0])]
    answers = np.arange(len(position)) if len(matrices) > 1 else np.zeros_like(position)
    return np.asarray(matrices[answers, :, position])


def multiply_columns(matrices: Array, columns: Array) -> Array:
    """Matrices times columns: one product per answer where all key sets share the matrix."""
    if matrices.shape[1] == 1:
        return np.asarray(np.matmul(columns, matrices[:, 0].swapaxes(-1, -2)))
    return np.asarray(np.matmul(matrices, columns[..., None])[..., 0])
