"""Functions that only rubrics may use: attention, distances of weights, means over key sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import CONDITION, NUMBER, Kind, Shape, make_matrix_shape
from grader.formula.eval.buffers import Buffers, select_part, split_for_cache
from grader.formula.eval.functions import CORE_FUNCTIONS, Function, ShapeError
from grader.formula.eval.softmax import softmax

Array = NDArray[Any]


def _total_variation(
    first: Array, second: Array, *, shapes: Sequence[Shape], spare: bool, buffers: Buffers
) -> Array:
    answers, key_sets, keys = map(max, first.shape, second.shape)
    total = np.empty((answers, key_sets))
    for rows in split_for_cache(answers, key_sets * keys):
        # Sampled weights have the key sets on the last axis in memory, and so has this.
        difference = buffers.scratch((rows.stop - rows.start, keys, key_sets)).swapaxes(1, 2)
        np.subtract(select_part(first, rows), select_part(second, rows), out=difference)
        np.abs(difference, out=difference)
        np.add.reduce(difference, axis=-1, out=total[rows])
    total *= 0.5
    return total


def _weights(inputs: Array, keys: Array, queries: Array, shapes: Sequence[Shape] = ()) -> Array:
    """Weights of self-attention, one row per input: softmax over j of (K x_j)^T (Q x_i)."""
    queried = np.matmul(inputs, queries.swapaxes(-1, -2))
    keyed = np.matmul(inputs, keys.swapaxes(-1, -2))
    return softmax(np.matmul(queried, keyed.swapaxes(-1, -2)))


def _self_attention(
    inputs: Array, keys: Array, queries: Array, values: Array, shapes: Sequence[Shape]
) -> Array:
    weights = _weights(inputs, keys, queries)
    return np.asarray(np.matmul(weights, np.matmul(inputs, values.swapaxes(-1, -2))))


def _mean_weights(kept: Array | None, like: Array) -> Array:
    """Equal weights of the key sets that count; they sum to one."""
    counted = np.ones(like.shape[:2]) if kept is None else np.broadcast_to(kept, like.shape[:2])
    return np.asarray(counted / counted.sum(axis=1, keepdims=True))


def _mean(values: Array, shapes: Sequence[Shape], kept: Array | None) -> Array:
    weights = _mean_weights(kept, values)
    spread = weights.reshape(*weights.shape, *[1] * (values.ndim - 2))
    return np.asarray((spread * values).sum(axis=1, keepdims=True))


def _trace_variance(values: Array, shapes: Sequence[Shape], kept: Array | None) -> Array:
    centred = values - _mean(values, shapes, kept)
    squares = np.einsum("bsi,bsi->bs", centred, centred)
    return _mean(squares, shapes, kept)


def _deviation(values: Array, shapes: Sequence[Shape], kept: Array | None) -> Array:
    centred = values - _mean(values, shapes, kept)
    return np.asarray(np.sqrt(_mean(centred * centred, shapes, kept)))


def _share(
    holds: Array, given: Array | None = None, *, shapes: Sequence[Shape], kept: Array | None
) -> Array:
    counted = given if kept is None else kept if given is None else kept & given
    return _mean(holds.astype(float), shapes, counted)


def _two_vectors(shapes: Sequence[Shape]) -> Shape:
    first, second = shapes
    if first != second or first.kind is not Kind.COLUMN:
        raise ShapeError("takes two columns of weights of the same length")
    return NUMBER


def _inputs_and_matrices(shapes: Sequence[Shape]) -> Shape:
    inputs = shapes[0]
    square = make_matrix_shape(inputs.columns, inputs.columns)
    if inputs.kind is not Kind.MATRIX or any(shape != square for shape in shapes[1:]):
        raise ShapeError("takes a matrix of inputs as rows, and square matrices of their length")
    return inputs


def _weight_matrix(shapes: Sequence[Shape]) -> Shape:
    inputs = _inputs_and_matrices(shapes)
    return make_matrix_shape(inputs.rows, inputs.rows)


def _conditions(shapes: Sequence[Shape]) -> Shape:
    if any(shape != CONDITION for shape in shapes):
        raise ShapeError("takes a condition, and optionally one that selects the key sets to count")
    return NUMBER


def _spectral_norm(values: Array, shapes: Sequence[Shape]) -> Array:
    """The largest factor by which a matrix lengthens a vector; NaN where it is not finite."""
    is_finite = np.asarray(np.isfinite(values).all(axis=(-2, -1)))
    finite = np.where(is_finite[..., None, None], values, 0.0)
    return np.where(is_finite, np.linalg.norm(finite, ord=2, axis=(-2, -1)), np.nan)


def _one_matrix(shapes: Sequence[Shape]) -> Shape:
    if shapes[0].kind is not Kind.MATRIX:
        raise ShapeError("takes a matrix")
    return NUMBER


def _one_column(shapes: Sequence[Shape]) -> Shape:
    if shapes[0].kind is not Kind.COLUMN:
        raise ShapeError("takes a column vector")
    return NUMBER


def _one_number(shapes: Sequence[Shape]) -> Shape:
    if shapes[0] != NUMBER:
        raise ShapeError("takes a number")
    return NUMBER


def _refuse_call(*_: object) -> Array:
    raise AssertionError("unit vectors have their own node")


#: All functions of rubrics: those of answers, and more.
RUBRIC_FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **CORE_FUNCTIONS,
        "tv": Function((2, 2), _two_vectors, _total_variation, reuses=True),
        "spectral_norm": Function((1, 1), _one_matrix, _spectral_norm),
        "unit": Function((1, 2), lambda shapes: shapes[0], _refuse_call, index=True),
        "self_attention": Function((4, 4), _inputs_and_matrices, _self_attention),
        "attention_weights": Function((3, 3), _weight_matrix, _weights),
        "share": Function((1, 2), _conditions, _share, over_key_sets=True),
        "mean": Function((1, 1), lambda shapes: shapes[0], _mean, over_key_sets=True),
        "deviation": Function((1, 1), _one_number, _deviation, over_key_sets=True),
        "trace_variance": Function((1, 1), _one_column, _trace_variance, over_key_sets=True),
    }
)
