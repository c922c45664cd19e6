"""Typed tree → NumPy, vectorised over answers and key sets.

Every array carries two leading axes, (answers, key sets), each of full length or 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind, Shape
from grader.errors import FormulaError
from grader.formula import tree as t

Array = NDArray[Any]


class Rows(ABC):
    """A matrix that is never built: it can be multiplied and can give single rows.

    Sampled key sets are of this kind, because building them costs far more than using them.
    """

    @abstractmethod
    def times(self, vectors: Array) -> Array:
        """The matrix times a column, for every answer and key set."""

    @abstractmethod
    def row(self, position: int | NDArray[np.intp]) -> Array:
        """One row, or for every answer its own."""

    @abstractmethod
    def whole(self) -> Array:
        """The matrix itself, built after all."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The values of all names: arrays, and drawn indices with one entry for each answer."""

    values: Mapping[str, Array | Rows]
    indices: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    kept: Array | None = None

    @classmethod
    def empty(cls) -> Environment:
        """An environment without names, for constants."""
        return cls({})


def evaluate(node: t.Node, environment: Environment) -> Array:
    """The value of a node, of shape (answers, key sets, …); may hold infinities and NaN."""
    with np.errstate(all="ignore"):
        return _Evaluation(environment).value(node)


def evaluate_finite(node: t.Node, environment: Environment) -> Array:
    """The value of a node, refused where it is not finite."""
    result = evaluate(node, environment)
    if not np.isfinite(result).all():
        raise FormulaError(
            "This formula does not give finite numbers: it divides by zero, overflows, "
            "or takes a logarithm or root that does not exist.",
            column=node.span.start + 1,
            length=node.span.end - node.span.start,
            code="formula.not_finite",
        )
    return result


class _Evaluation:
    """One walk over a tree; holds the values of bound indices on the way."""

    __slots__ = ("bound", "environment")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.bound: dict[str, int] = {}

    def value(self, node: t.Node) -> Array:
        """The value of a node as an array."""
        result = self._value(node)
        return result.whole() if isinstance(result, Rows) else result

    def _value(self, node: t.Node) -> Any:
        match node:
            case t.Name():
                return self.environment.values[node.name]
            case t.Multiply():
                return self._multiply(node)
            case t.Member():
                return self._member(node)
            case t.Number():
                return np.full((1, 1), node.value)
            case t.Call():
                return self._call(node)
            case t.Add():
                left, right = self.value(node.left), self.value(node.right)
                return left + right if node.sign == 1 else left - right
            case t.Negate():
                return -self.value(node.operand)
            case t.Transpose():
                value = self.value(node.operand)
                return value.swapaxes(-1, -2) if node.shape.kind is Kind.MATRIX else value
            case t.Divide():
                return self.value(node.left) / _spread(self.value(node.right), node.shape)
            case t.Power():
                return np.power(self.value(node.base), self.value(node.exponent))
            case t.Series():
                return self._series(node)
            case t.Stack():
                return self._stack(node)
            case t.Identity():
                return np.eye(node.shape.rows)[None, None]
            case t.UnitVector():
                position = np.atleast_1d(self._position(node.index))
                return (np.arange(node.shape.rows) == position[:, None])[:, None].astype(float)
            case t.SizedCall():
                return node.function.compute(*node.sizes)
            case t.MatrixPower():
                return self._matrix_power(node)
            case t.Compare():
                return self._compare(node)
            case t.Both():
                return self.value(node.left) & self.value(node.right)
            case _:
                raise AssertionError(f"no way to compute {type(node).__name__}")

    def _multiply(self, node: t.Multiply) -> Array:
        left = self._value(node.left)
        if isinstance(left, Rows):
            if node.product is t.Product.MATRIX_COLUMN:
                return left.times(self.value(node.right))
            left = left.whole()
        right = self.value(node.right)
        match node.product:
            case t.Product.SCALE:
                if node.left.shape.kind is Kind.NUMBER:
                    return np.asarray(_spread(left, node.shape) * right)
                return np.asarray(left * _spread(right, node.shape))
            case t.Product.DOT:
                return np.einsum("...i,...i->...", left, right)
            case t.Product.OUTER:
                return np.asarray(left[..., :, None] * right[..., None, :])
            case t.Product.MATRIX_COLUMN:
                return times_column(left, right)
            case t.Product.ROW_MATRIX:
                return times_column(right.swapaxes(-1, -2), left)
            case t.Product.MATRIX_MATRIX:
                return np.asarray(np.matmul(left, right))
            case _:
                assert_never(node.product)

    def _member(self, node: t.Member) -> Array:
        source = self.environment.values[node.family.source]
        position = self._position(node.position)
        if isinstance(source, Rows):
            return source.row(position)
        if node.family.by_columns:
            source = source.swapaxes(-1, -2)
        return take_row(source, position)

    def _position(self, position: int | str) -> int | NDArray[np.intp]:
        if isinstance(position, int):
            return position
        if position in self.bound:
            return self.bound[position]
        return self.environment.indices[position]

    def _call(self, node: t.Call) -> Array:
        values = [self.value(argument) for argument in node.arguments]
        shapes = [argument.shape for argument in node.arguments]
        if node.function.over_key_sets:
            return node.function.compute(*values, shapes=shapes, kept=self.environment.kept)
        return node.function.compute(*values, shapes=shapes)

    def _series(self, node: t.Series) -> Array:
        total: Array | None = None
        for position in range(node.first, node.last + 1):
            self.bound[node.bound] = position
            term = self.value(node.body)
            counts = self._counts(node, position)
            if counts is not None:
                term = np.where(counts.reshape(-1, *[1] * (term.ndim - 1)), term, 0.0)
            total = term if total is None else total + term
        del self.bound[node.bound]
        assert total is not None, "a sum has at least one term"
        return total

    def _counts(self, node: t.Series, position: int) -> Array | None:
        """For every answer, whether this term belongs to the sum; None where it always does."""
        if node.included is not None:
            chosen = [np.atleast_1d(self._position(place)) == position for place in node.included]
            return np.any(np.broadcast_arrays(*chosen), axis=0)
        if node.excluded:
            left_out = [np.atleast_1d(self._position(place)) == position for place in node.excluded]
            return ~np.any(np.broadcast_arrays(*left_out), axis=0)
        return None

    def _stack(self, node: t.Stack) -> Array:
        items = np.broadcast_arrays(*[self.value(item) for item in node.items])
        return np.stack(items, axis=2)

    def _matrix_power(self, node: t.MatrixPower) -> Array:
        base = self.value(node.base)
        try:
            return np.linalg.matrix_power(base, node.exponent)
        except np.linalg.LinAlgError:
            return np.full_like(base, np.nan)

    def _compare(self, node: t.Compare) -> Array:
        left, right = self.value(node.left), self.value(node.right)
        match node.operator:
            case "<":
                return np.asarray(left < right)
            case "<=":
                return np.asarray(left <= right)
            case ">":
                return np.asarray(left > right)
            case _:
                return np.asarray(left >= right)


def _spread(number: Array, shape: Shape) -> Array:
    """Give a number as many axes as the value it meets."""
    return number.reshape(*number.shape, *[1] * len(shape.axes))


def take_row(matrices: Array, position: int | NDArray[np.intp]) -> Array:
    """One row of every matrix; with an array of positions, each answer its own row."""
    if isinstance(position, int):
        return matrices[:, :, position]
    if len(position) == 1:
        return matrices[:, :, int(position[0])]
    answers = np.arange(len(position)) if len(matrices) > 1 else np.zeros_like(position)
    return np.asarray(matrices[answers, :, position])


def times_column(matrices: Array, columns: Array) -> Array:
    """Matrices times columns; one matrix product per answer where the matrix is one for all key sets."""
    if matrices.shape[1] == 1:
        return np.asarray(np.matmul(columns, matrices[:, 0].swapaxes(-1, -2)))
    return np.asarray(np.matmul(matrices, columns[..., None])[..., 0])
