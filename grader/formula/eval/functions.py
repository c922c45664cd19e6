"""The functions of the formula language, each with its shape rule and its NumPy.

Every array here carries two leading axes, (answers, key sets), each of full length or 1, before
the axes of its shape. A function works on the trailing axes only, so it is vectorised over both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import (
    NUMBER,
    Kind,
    Shape,
    make_column_shape,
    make_matrix_shape,
    make_shape,
)
from grader.formula.eval.buffers import Buffers
from grader.formula.eval.softmax import softmax

Array = NDArray[Any]
ShapeRule = Callable[[Sequence[Shape]], Shape]


class ShapeError(Exception):
    """A function cannot take these shapes; the message says what it takes."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how many arguments, which shapes, and what it computes.

    ``sizes`` marks functions whose arguments are sizes known beforehand, such as ``zeros(n, d)``;
    ``index`` those whose argument is an index, such as ``unit(a)``; ``over_key_sets`` those that
    gather all key sets into one number and therefore take the mask of those that count;
    ``reuses`` those that can write into their first argument when nobody needs it any more, and
    take the memory for intermediate arrays from buffers.
    """

    arguments: tuple[int, int]
    shape: ShapeRule
    compute: Callable[..., Array]
    sizes: bool = False
    index: bool = False
    over_key_sets: bool = False
    reuses: bool = False


def _list_trailing_axes(shape: Shape) -> tuple[int, ...]:
    """The axes of an array that belong to its shape, counted from the end."""
    return tuple(range(-len(shape.axes), 0))


def compute_norm(vectors: Array) -> Array:
    """Euclidean length over the last axis, safe from overflow and from underflow."""
    squares = np.einsum("...i,...i->...", vectors, vectors)
    least, most = _find_extremes(squares)
    if least > 1e-200 and most < 1e300:
        return np.asarray(np.sqrt(squares))
    largest = np.abs(vectors).max(axis=-1)
    scale = np.where(largest > 0, largest, 1.0)
    scaled = vectors / scale[..., None]
    return np.asarray(scale * np.sqrt(np.einsum("...i,...i->...", scaled, scaled)))


def _find_extremes(values: Array) -> tuple[float, float]:
    """The smallest and the largest number; NaN where there is none."""
    if values.size > 1:
        least, most = np.minimum.reduce(values, axis=None), np.maximum.reduce(values, axis=None)
        return float(least), float(most)
    # Several times faster, and most values that no key set changes are single numbers.
    value = values.item() if values.size else math.nan
    return value, value


def _sigmoid(values: Array) -> Array:
    """The logistic function, without overflow at either end."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))


def _normal_distribution(values: Array) -> Array:
    """The distribution function of the standard normal, exact in both tails."""
    return np.asarray(0.5 * _COMPLEMENTARY_ERROR(-values / math.sqrt(2.0)), dtype=float)


_COMPLEMENTARY_ERROR = np.frompyfunc(math.erfc, 1, 1)


def _same(shapes: Sequence[Shape]) -> Shape:
    return shapes[0]


def _flat(values: Array, shape: Shape) -> Array:
    """Join a value's own axes into one."""
    return values.reshape(*values.shape[:2], shape.size)


def _number_of_one(shapes: Sequence[Shape]) -> Shape:
    return NUMBER


def _vector(shapes: Sequence[Shape]) -> Shape:
    if shapes[0].kind not in (Kind.COLUMN, Kind.ROW):
        raise ShapeError(f"takes a vector, but it is given {shapes[0].describe()}")
    return shapes[0]


def _two_alike(shapes: Sequence[Shape]) -> Shape:
    first, second = shapes
    if first != second:
        raise ShapeError(
            "takes two values of the same shape, "
            f"but it is given {first.describe()} and {second.describe()}"
        )
    return NUMBER


def _two_columns(shapes: Sequence[Shape]) -> Shape:
    _two_alike(shapes)
    _vector(shapes)
    return NUMBER


def _outer(shapes: Sequence[Shape]) -> Shape:
    first, second = shapes
    if first.kind is not Kind.COLUMN or second.kind is not Kind.COLUMN:
        raise ShapeError("takes two column vectors")
    return make_matrix_shape(first.rows, second.rows)


def _square(shapes: Sequence[Shape]) -> Shape:
    shape = shapes[0]
    if shape.kind is not Kind.MATRIX or shape.rows != shape.columns:
        raise ShapeError(f"takes a square matrix, but it is given {shape.describe()}")
    return shape


def _trace(shapes: Sequence[Shape]) -> Shape:
    _square(shapes)
    return NUMBER


def _diagonal(shapes: Sequence[Shape]) -> Shape:
    shape = shapes[0]
    match shape.kind:
        case Kind.COLUMN | Kind.ROW:
            return make_matrix_shape(shape.size, shape.size)
        case Kind.MATRIX:
            return make_column_shape(_square(shapes).rows)
        case _:
            raise ShapeError("takes a vector or a square matrix")


def _transposed(shapes: Sequence[Shape]) -> Shape:
    return shapes[0].transposed()


def _transposed_matrix(shapes: Sequence[Shape]) -> Shape:
    if shapes[0].kind is not Kind.MATRIX:
        raise ShapeError(f"takes a matrix, but it is given {shapes[0].describe()}")
    return shapes[0].transposed()


def _least(shapes: Sequence[Shape]) -> Shape:
    if len(shapes) > 1 and any(shape != NUMBER for shape in shapes):
        raise ShapeError("takes several numbers, or one vector or matrix")
    return NUMBER


def _extreme(reduce: Callable[..., Any], combine: Callable[..., Any]) -> Callable[..., Array]:
    def compute(*values: Array, shapes: Sequence[Shape]) -> Array:
        if len(values) == 1:
            return np.asarray(reduce(values[0], axis=_list_trailing_axes(shapes[0])))
        result = values[0]
        for value in values[1:]:
            result = combine(result, value)
        return result

    return compute


def _diag(values: Array, *, shapes: Sequence[Shape]) -> Array:
    if shapes[0].kind is Kind.MATRIX:
        return np.diagonal(values, axis1=-2, axis2=-1)
    return values[..., None] * np.eye(shapes[0].size)


def _flat_norm(values: Array, *, shapes: Sequence[Shape]) -> Array:
    return compute_norm(_flat(values, shapes[0]))


def _distance(
    first: Array, second: Array, *, shapes: Sequence[Shape], spare: bool, buffers: Buffers
) -> Array:
    holds_all = spare and first.shape == np.broadcast_shapes(first.shape, second.shape)
    difference = np.subtract(first, second, out=first if holds_all else None)
    return compute_norm(_flat(difference, shapes[0]))


def inverse(matrices: Array) -> Array:
    """The inverse of every matrix; NaN for those that have none, which leaves the others alone."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.full_like(matrices, np.nan)
        return np.stack([inverse(each) for each in matrices])


def pseudo_inverse(matrices: Array) -> Array:
    """The Moore–Penrose inverse of every matrix; NaN for those that are not finite.

    Singular values as small as the rounding error of the largest count as zero.
    """
    rounding = max(matrices.shape[-2:]) * float(np.finfo(np.float64).eps)
    try:
        return np.asarray(np.linalg.pinv(matrices, rcond=rounding))
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.full_like(matrices.T, np.nan)
        return np.stack([pseudo_inverse(each) for each in matrices])


def _transpose(values: Array, *, shapes: Sequence[Shape]) -> Array:
    return values.swapaxes(-1, -2) if shapes[0].kind is Kind.MATRIX else values


def _elementwise(ufunc: Callable[[Array], Array]) -> Function:
    return Function((1, 1), _same, lambda values, shapes: np.asarray(ufunc(values)))


def _sized(fill: Callable[[tuple[int, ...]], Array]) -> Function:
    return Function(
        (1, 2),
        lambda shapes: shapes[0],
        lambda *sizes: fill(make_shape(sizes).axes)[None, None],
        sizes=True,
    )


def _identity(*sizes: int) -> Array:
    return np.eye(sizes[0], sizes[-1])[None, None]


_LOGARITHM = _elementwise(np.log)
_IDENTITY = Function((1, 1), lambda shapes: shapes[0], _identity, sizes=True)
_DOT = Function((2, 2), _two_columns, lambda x, y, shapes: np.einsum("...i,...i->...", x, y))

#: What everybody may use, students and authors.
CORE_FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "exp": _elementwise(np.exp),
        "log": _LOGARITHM,
        "ln": _LOGARITHM,
        "sqrt": _elementwise(np.sqrt),
        "abs": _elementwise(np.abs),
        "tanh": _elementwise(np.tanh),
        "sigmoid": _elementwise(_sigmoid),
        "Phi": _elementwise(_normal_distribution),
        "softmax": Function(
            (1, 1),
            _vector,
            lambda values, shapes, spare, buffers: softmax(values, spare=spare),
            reuses=True,
        ),
        "norm": Function((1, 1), _number_of_one, _flat_norm),
        "dot": _DOT,
        "inner": _DOT,
        "outer": Function((2, 2), _outer, lambda x, y, shapes: x[..., :, None] * y[..., None, :]),
        "distance": Function((2, 2), _two_alike, _distance, reuses=True),
        "sum": Function(
            (1, 1),
            _number_of_one,
            lambda values, shapes: np.asarray(values.sum(axis=_list_trailing_axes(shapes[0]))),
        ),
        "min": Function((1, 8), _least, _extreme(np.min, np.minimum)),
        "max": Function((1, 8), _least, _extreme(np.max, np.maximum)),
        "trace": Function(
            (1, 1), _trace, lambda values, shapes: np.trace(values, axis1=-2, axis2=-1)
        ),
        "diag": Function((1, 1), _diagonal, _diag),
        "inv": Function((1, 1), _square, lambda values, shapes: inverse(values)),
        "pinv": Function((1, 1), _transposed_matrix, lambda values, shapes: pseudo_inverse(values)),
        "transpose": Function((1, 1), _transposed, _transpose),
        "zeros": _sized(np.zeros),
        "ones": _sized(np.ones),
        "identity": _IDENTITY,
        "eye": _IDENTITY,
    }
)
