"""Typed tree → NumPy, vectorised over answers and key sets.

Every array carries two leading axes, (answers, key sets), each of full length or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind, Shape
from grader.errors import FormulaError
from grader.formula import tree as t

Array = NDArray[Any]


class Rows:
    """A matrix that is never built: it can be multiplied and can give single rows.

    Sampled key sets are of this kind, because building them costs far more than using them.
    """

    __slots__ = ()

    def product(self, vectors: Array) -> Array:
        """The costly part of `times`, which can be taken for many answers beforehand."""
        raise NotImplementedError

    def times(self, vectors: Array, product: Array | None = None) -> Array:
        """The matrix times a column, for every answer and key set."""
        raise NotImplementedError

    def row(self, position: int | NDArray[np.intp]) -> Array:
        """One row, or for every answer its own."""
        raise NotImplementedError

    def row_dot(self, position: int | NDArray[np.intp], vectors: Array) -> Array:
        """One row, or for every answer its own, times a vector."""
        raise NotImplementedError

    def whole(self) -> Array:
        """The matrix itself, built after all."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Environment:
    """The values of all names: arrays, and drawn indices with one entry for each answer.

    `kept` marks the key sets that count. `ready` holds the values of nodes that were computed
    before, by the node's identity, and `products` the costly part of products with `Rows`.
    `read_once` names values that may be overwritten when they are read.
    """

    values: Mapping[str, Array | Rows]
    indices: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    kept: Array | None = None
    ready: Mapping[int, Array] = field(default_factory=dict)
    products: Mapping[int, Array] = field(default_factory=dict)
    read_once: frozenset[str] = frozenset()

    @classmethod
    def empty(cls) -> Environment:
        """An environment without names, for constants."""
        return cls({})


def compute(node: t.Node, environment: Environment) -> Array:
    """The value of a node, as `evaluate`, for callers that silence NumPy's warnings themselves."""
    return _Evaluation(environment).value(node)


def evaluate(node: t.Node, environment: Environment) -> Array:
    """The value of a node, of shape (answers, key sets, …); may hold infinities and NaN."""
    with np.errstate(all="ignore"):
        return compute(node, environment)


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
        ready = self.environment.ready.get(id(node))
        if ready is not None:
            return ready
        result = _WAYS[type(node)](self, node)
        return result if type(result) is np.ndarray else _built(result)

    def _lazy(self, node: t.Node) -> Array | Rows:
        """The value of a node, which may be a matrix that is never built."""
        return _WAYS[type(node)](self, node)

    def _name(self, node: t.Name) -> Array | Rows:
        return self.environment.values[node.name]

    def _number(self, node: t.Number) -> Array:
        return _constant(node.value)

    def _add(self, node: t.Add) -> Array:
        left, right = self.value(node.left), self.value(node.right)
        return np.asarray(left + right if node.sign == 1 else left - right)

    def _negate(self, node: t.Negate) -> Array:
        return np.asarray(-self.value(node.operand))

    def _transpose(self, node: t.Transpose) -> Array:
        value = self.value(node.operand)
        return value.swapaxes(-1, -2) if node.shape.kind is Kind.MATRIX else value

    def _divide(self, node: t.Divide) -> Array:
        return np.asarray(self.value(node.left) / _spread(self.value(node.right), node.shape))

    def _power(self, node: t.Power) -> Array:
        return np.asarray(np.power(self.value(node.base), self.value(node.exponent)))

    def _identity(self, node: t.Identity) -> Array:
        return np.eye(node.shape.rows)[None, None]

    def _unit_vector(self, node: t.UnitVector) -> Array:
        position = np.atleast_1d(self._position(node.index))
        return np.asarray(np.arange(node.shape.rows) == position[:, None], dtype=float)[:, None]

    def _sized_call(self, node: t.SizedCall) -> Array:
        return node.function.compute(*node.sizes)

    def _both(self, node: t.Both) -> Array:
        return np.asarray(self.value(node.left) & self.value(node.right))

    def _multiply(self, node: t.Multiply) -> Array:
        if node.product is t.Product.DOT and (dotted := self._row_dot(node)) is not None:
            return dotted
        left = self._lazy(node.left)
        if isinstance(left, Rows):
            if node.product is t.Product.MATRIX_COLUMN:
                product = self.environment.products.get(id(node))
                return left.times(self.value(node.right), product)
            left = left.whole()
        right = self.value(node.right)
        match node.product:
            case t.Product.SCALE:
                if node.left.shape.kind is Kind.NUMBER:
                    return np.asarray(_spread(left, node.shape) * right)
                return np.asarray(left * _spread(right, node.shape))
            case t.Product.DOT:
                return np.asarray(np.einsum("...i,...i->...", left, right))
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

    def _row_dot(self, node: t.Multiply) -> Array | None:
        """A vector's product with one row of a matrix that is never built; None for others."""
        match node.right:
            case t.Member(family=family, position=position):
                source = self.environment.values[family.source]
                if isinstance(source, Rows):
                    return source.row_dot(self._position(position), self.value(node.left))
        return None

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
        if node.function.over_key_sets:
            return node.function.compute(*values, shapes=node.shapes, kept=self.environment.kept)
        if node.function.reuses:
            spare = self._is_spare(node.arguments[0])
            return node.function.compute(*values, shapes=node.shapes, spare=spare)
        return node.function.compute(*values, shapes=node.shapes)

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
        if node.included is not None:
            chosen = [np.atleast_1d(self._position(place)) == position for place in node.included]
            return np.asarray(np.any(np.broadcast_arrays(*chosen), axis=0))
        if node.excluded:
            left_out = [np.atleast_1d(self._position(place)) == position for place in node.excluded]
            return np.asarray(~np.any(np.broadcast_arrays(*left_out), axis=0))
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


@lru_cache(maxsize=4096)
def _constant(value: float) -> Array:
    array = np.full((1, 1), value)
    array.flags.writeable = False
    return array


def _spread(number: Array, shape: Shape) -> Array:
    """Give a number as many axes as the value it meets."""
    if not shape.axes:
        return number
    return number.reshape(*number.shape, *[1] * len(shape.axes))


def _built(value: Array | Rows) -> Array:
    return value.whole() if isinstance(value, Rows) else np.asarray(value)


#: How each kind of node is computed.
_WAYS: dict[type[t.Node], Callable[[_Evaluation, Any], Array | Rows]] = {
    t.Name: _Evaluation._name,
    t.Number: _Evaluation._number,
    t.Identity: _Evaluation._identity,
    t.Member: _Evaluation._member,
    t.Negate: _Evaluation._negate,
    t.Transpose: _Evaluation._transpose,
    t.Add: _Evaluation._add,
    t.Multiply: _Evaluation._multiply,
    t.Divide: _Evaluation._divide,
    t.Power: _Evaluation._power,
    t.MatrixPower: _Evaluation._matrix_power,
    t.Call: _Evaluation._call,
    t.SizedCall: _Evaluation._sized_call,
    t.UnitVector: _Evaluation._unit_vector,
    t.Stack: _Evaluation._stack,
    t.Series: _Evaluation._series,
    t.Compare: _Evaluation._compare,
    t.Both: _Evaluation._both,
}


def take_row(matrices: Array, position: int | NDArray[np.intp]) -> Array:
    """One row of every matrix; with an array of positions, each answer its own row."""
    if isinstance(position, int):
        return matrices[:, :, position]
    if len(position) == 1:
        return matrices[:, :, int(position[0])]
    answers = np.arange(len(position)) if len(matrices) > 1 else np.zeros_like(position)
    return np.asarray(matrices[answers, :, position])


def times_column(matrices: Array, columns: Array) -> Array:
    """Matrices times columns: one product per answer where all key sets share the matrix."""
    if matrices.shape[1] == 1:
        return np.asarray(np.matmul(columns, matrices[:, 0].swapaxes(-1, -2)))
    return np.asarray(np.matmul(matrices, columns[..., None])[..., 0])
