"""Typed tree → NumPy, vectorised over answers and key sets.

Every array carries two leading axes, (answers, key sets), each of full length or 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind, Shape
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.eval.buffers import FRESH, Buffers
from grader.formula.eval.failures import describe_failure
from grader.formula.eval.functions import inverse
from grader.formula.render import to_short_text
from grader.formula.typed import tree as t
from grader.formula.typed.tree import Product

Array = NDArray[Any]


class LazyMatrix(ABC):
    """A matrix that is never built: it can be multiplied and can give single rows.

    Sampled key sets are of this kind, because building them costs far more than using them.
    """

    __slots__ = ()

    @abstractmethod
    def times(self, vectors: Array) -> Array:
        """The matrix times a column, for every answer and key set."""

    @abstractmethod
    def softmax_times(self, vectors: Array) -> Array:
        """The softmax of the matrix times a column, for every answer and key set."""

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


_COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


@dataclass(frozen=True, slots=True)
class Environment:
    """The values of all names: arrays, and drawn indices with one entry for each answer.

    `kept` marks the key sets that count. `ready` holds the values of nodes that were computed
    before, by the node's identity. `read_once` names values that may be overwritten when they are
    read. Large intermediate arrays lie in `buffers`.
    """

    values: Mapping[str, Array | LazyMatrix]
    indices: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    kept: Array | None = None
    ready: Mapping[int, Array] = field(default_factory=dict)
    read_once: frozenset[str] = frozenset()
    buffers: Buffers = FRESH

    @classmethod
    def empty(cls) -> Environment:
        """An environment without names, for constants."""
        return cls({})


def evaluate(node: t.Node, environment: Environment) -> Array:
    """The value of a node, of shape (answers, key sets, …); may hold infinities and NaN."""
    with np.errstate(all="ignore"):
        return Evaluation(environment).value(node)


def evaluate_finite(node: t.Node, environment: Environment) -> Array:
    """The value of a node, refused where it is not finite."""
    result = evaluate(node, environment)
    if not np.isfinite(result).all():
        raise _make_not_finite_error(node, environment)
    return result


def _make_not_finite_error(node: t.Node, environment: Environment) -> FormulaError:
    tracing = _TracingEvaluation(environment)
    with np.errstate(all="ignore"):
        tracing.value(node)
    culprit = tracing.culprit or node
    return make_error(
        f"{to_short_text(culprit)} {tracing.failure}.", culprit.start, code="formula.not_finite"
    )


class Evaluation:
    """Computes nodes in one environment; holds the values of bound indices on the way.

    The caller silences NumPy's warnings.
    """

    __slots__ = ("bound", "environment")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.bound: dict[str, int] = {}

    def value(self, node: t.Node) -> Array:
        """The value of a node as an array."""
        # Most nodes are a name or a number, which nobody computes before.
        kind = type(node)
        if kind is t.Number:
            return _constant(node.value)  # type: ignore[attr-defined]  # mypy does not narrow by `type`
        if kind is t.Name:
            # As above.
            result: Array | LazyMatrix = self.environment.values[node.name]  # type: ignore[attr-defined]
        else:
            ready = self.environment.ready.get(id(node))
            result = _HANDLERS[kind](self, node) if ready is None else ready
        return result if type(result) is np.ndarray else _to_array(result)

    def _add(self, node: t.Add) -> Array:
        left, right = self.value(node.left), self.value(node.right)
        return np.asarray(left + right if node.sign == 1 else left - right)

    def _negate(self, node: t.Negate) -> Array:
        return np.asarray(-self.value(node.operand))

    def _transpose(self, node: t.Transpose) -> Array:
        value = self.value(node.operand)
        return value.swapaxes(-1, -2) if node.shape.kind is Kind.MATRIX else value

    def _divide(self, node: t.Divide) -> Array:
        return np.asarray(self.value(node.left) / add_axes(self.value(node.right), node.shape))

    def _power(self, node: t.Power) -> Array:
        return np.asarray(np.power(self.value(node.base), self.value(node.exponent)))

    def _identity(self, node: t.Identity) -> Array:
        return np.eye(node.shape.rows)[None, None]

    def _unit_vector(self, node: t.UnitVector) -> Array:
        position = np.atleast_1d(self._position(node.index))
        return np.asarray(np.arange(node.shape.rows) == position[:, None], dtype=float)[:, None]

    def _sized_call(self, node: t.SizedCall) -> Array:
        return node.function.compute(*node.sizes)

    def _both(self, node: t.And) -> Array:
        return np.asarray(self.value(node.left) & self.value(node.right))

    def _multiply(self, node: t.Multiply) -> Array:
        if node.product is t.Product.DOT and (dotted := self._row_dot(node)) is not None:
            return dotted
        # Only what has a name can be a matrix that is never built.
        if isinstance(node.left, t.Name):
            left = self.environment.values[node.left.name]
        else:
            left = self.value(node.left)
        if isinstance(left, LazyMatrix):
            if node.product is t.Product.MATRIX_COLUMN:
                return left.times(self.value(node.right))
            left = left.whole()
        return multiply(node.product, left, self.value(node.right), node.shape)

    def _row_dot(self, node: t.Multiply) -> Array | None:
        """A vector's product with one row of a matrix that is never built; None for others."""
        match node.right:
            case t.FamilyMember(family=family, position=position):
                source = self.environment.values[family.source]
                if isinstance(source, LazyMatrix) and not family.by_columns:
                    return source.row_dot(self._position(position), self.value(node.left))
        return None

    def _member(self, node: t.FamilyMember) -> Array:
        source = self.environment.values[node.family.source]
        position = self._position(node.position)
        if node.family.by_columns:
            return take_row(_to_array(source).swapaxes(-1, -2), position)
        return (
            source.row(position) if isinstance(source, LazyMatrix) else take_row(source, position)
        )

    def _position(self, position: t.Position) -> int | NDArray[np.intp]:
        if isinstance(position, str):
            return self.environment.indices[position]
        return self.bound[position.name] if isinstance(position, t.BoundIndex) else position

    def _call(self, node: t.FunctionCall) -> Array:
        if node.name == "softmax" and (weights := self._softmax_of_product(node)) is not None:
            return weights
        values = [self.value(argument) for argument in node.arguments]
        if node.function.over_key_sets:
            return node.function.compute(*values, shapes=node.shapes, kept=self.environment.kept)
        if node.function.reuses:
            spare = self._is_spare(node.arguments[0])
            return node.function.compute(
                *values, shapes=node.shapes, spare=spare, buffers=self.environment.buffers
            )
        return node.function.compute(*values, shapes=node.shapes)

    def _softmax_of_product(self, node: t.FunctionCall) -> Array | None:
        """The softmax of a product with a matrix that is never built; None for others."""
        match node.arguments[0]:
            case t.Multiply(product=t.Product.MATRIX_COLUMN, left=t.Name(name=name), right=right):
                matrix = self.environment.values[name]
                if isinstance(matrix, LazyMatrix):
                    return matrix.softmax_times(self.value(right))
        return None

    def _is_spare(self, node: t.Node) -> bool:
        """Whether a value is needed nowhere else: it was just computed, or is read only once."""
        if id(node) in self.environment.ready:
            return False
        match node:
            case t.Name(name=name):
                return name in self.environment.read_once
            case t.Multiply() | t.Add():
                return True
            case _:
                return False

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
        places = node.excluded if node.included is None else node.included
        if not places:
            return None
        hits = [np.atleast_1d(self._position(place)) == position for place in places]
        is_listed = np.any(np.broadcast_arrays(*hits), axis=0)
        return np.asarray(~is_listed if node.included is None else is_listed)

    def _stack(self, node: t.Stack) -> Array:
        items = np.broadcast_arrays(*[self.value(item) for item in node.items])
        return np.stack(items, axis=2)

    def _matrix_power(self, node: t.MatrixPower) -> Array:
        base = self.value(node.base)
        if node.exponent < 0:
            return inverse(base)
        return np.asarray(np.linalg.matrix_power(base, node.exponent))

    def _compare(self, node: t.Compare) -> Array:
        compared = _COMPARISONS[node.operator](self.value(node.left), self.value(node.right))
        return np.asarray(compared)


class _TracingEvaluation(Evaluation):
    """An evaluation that remembers the first part that is not finite, and why it is not."""

    __slots__ = ("culprit", "failure")

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.culprit: t.Node | None = None
        self.failure = "does not give finite numbers"

    def value(self, node: t.Node) -> Array:
        """The value of a node as an array."""
        result = super().value(node)
        if self.culprit is None and not np.isfinite(result).all():
            self.culprit = node
            self.failure = describe_failure(node, result, super().value)
        return result


@lru_cache(maxsize=4096)
def _constant(value: float) -> Array:
    array = np.full((1, 1), value)
    array.flags.writeable = False
    return array


def _to_array(value: Array | LazyMatrix) -> Array:
    return value.whole() if isinstance(value, LazyMatrix) else np.asarray(value)


#: How each kind of node is computed.
_HANDLERS: dict[type[t.Node], Callable[[Evaluation, Any], Array | LazyMatrix]] = {
    t.Identity: Evaluation._identity,
    t.FamilyMember: Evaluation._member,
    t.Negate: Evaluation._negate,
    t.Transpose: Evaluation._transpose,
    t.Add: Evaluation._add,
    t.Multiply: Evaluation._multiply,
    t.Divide: Evaluation._divide,
    t.Power: Evaluation._power,
    t.MatrixPower: Evaluation._matrix_power,
    t.FunctionCall: Evaluation._call,
    t.SizedCall: Evaluation._sized_call,
    t.UnitVector: Evaluation._unit_vector,
    t.Stack: Evaluation._stack,
    t.Series: Evaluation._series,
    t.Compare: Evaluation._compare,
    t.And: Evaluation._both,
}
