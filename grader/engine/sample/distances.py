"""Distances from a point that the variant fixes, measured in fewer dimensions.

`|M x - t|` with a (d, n) matrix M is `|R (x, -1)|`, where R is the triangle in the QR decomposition
of M with t beside it. Lengths stay the same because a rotation keeps them, and so do their digits:
unlike with a Gram matrix, nothing is squared before it is subtracted. R has n + 1 rows instead of
d, and it is computed once for a variant, while x differs from key set to key set.

Where x is a softmax, its numbers sum to one, and `M x - t` is `(M - t 1^T) x`: then R is the
triangle of this difference, and nothing need be subtracted on every key set.

The total variation of a softmax w from weights t is, because w sums to one and is never negative,
`sum of max(t_i - w_i, 0)` and `(1 - sum of t) / 2`: only the keys that t gives weight to count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape, make_matrix_shape
from grader.formula.eval.buffers import Buffers, select_part, split_for_cache
from grader.formula.eval.functions import Function, compute_norm
from grader.formula.typed.tree import FunctionCall, Multiply, Name, Node, Product

Array = NDArray[Any]

N = TypeVar("N", bound=Node)


def reduce_distances(
    node: Node, steps: Mapping[str, Node], once: Set[str], is_fixed: Callable[[Node], bool]
) -> Node:
    """The same tree, with distances in fewer dimensions where that is possible.

    Parameters
    ----------
    steps
        Named values that are computed beforehand.
    once
        The names of those that may be computed where they are read, instead.
    is_fixed
        Whether a node depends on the variant alone.
    """
    if isinstance(node, FunctionCall) and node.name == "distance":
        first, second = node.arguments
        for moving, target in ((first, second), (second, first)):
            if isinstance(moving, Name) and moving.name in once:
                moving = steps[moving.name]
            if is_fixed(target) and _is_reducible(moving, is_fixed):
                return _make_reduced(node, moving, target, steps)
    if isinstance(node, FunctionCall) and node.name == "tv":
        for weights, target in (node.arguments, reversed(node.arguments)):
            if is_fixed(target) and _is_softmax(weights, steps):
                return _make_shortfall(node, weights, target)
    return _map_children(node, lambda child: reduce_distances(child, steps, once, is_fixed))


def _is_reducible(node: Node, is_fixed: Callable[[Node], bool]) -> bool:
    match node:
        case Multiply(product=Product.MATRIX_COLUMN, left=matrix):
            return is_fixed(matrix) and matrix.shape.rows > matrix.shape.columns + 1
        case _:
            return False


def _make_reduced(
    node: FunctionCall, product: Node, target: Node, steps: Mapping[str, Node]
) -> Node:
    assert isinstance(product, Multiply), "the caller looked"
    matrix, column = product.left, product.right
    sums_to_one = _is_softmax(column, steps)
    size = matrix.shape.columns + (not sums_to_one)
    triangle = FunctionCall(
        name="triangle",
        function=_TRIANGLE_OF_DIFFERENCE if sums_to_one else _TRIANGLE,
        arguments=(matrix, target),
        shapes=(matrix.shape, target.shape),
        shape=make_matrix_shape(size, size),
        start=node.start,
    )
    return replace(
        node,
        function=_REDUCED_DISTANCE,
        arguments=(triangle, column),
        shapes=(triangle.shape, column.shape),
    )


def _is_softmax(node: Node, steps: Mapping[str, Node]) -> bool:
    if isinstance(node, Name):
        node = steps.get(node.name, node)
    return isinstance(node, FunctionCall) and node.name == "softmax"


def _compute_triangle(matrices: Array, targets: Array, *, shapes: Sequence[Shape]) -> Array:
    targets = _to_columns(targets, shapes)
    axes = np.broadcast_shapes(matrices.shape[:2], targets.shape[:2])
    beside = [np.broadcast_to(each, (*axes, *each.shape[2:])) for each in (matrices, targets)]
    return np.asarray(np.linalg.qr(np.concatenate(beside, axis=-1), mode="r"))


def _compute_triangle_of_difference(
    matrices: Array, targets: Array, *, shapes: Sequence[Shape]
) -> Array:
    return np.asarray(np.linalg.qr(matrices - _to_columns(targets, shapes), mode="r"))


def _to_columns(targets: Array, shapes: Sequence[Shape]) -> Array:
    """Targets as matrices of one column, of shape (answers, key sets, d, 1)."""
    return targets.reshape(*targets.shape[:2], shapes[1].size, 1)


def _compute_reduced_distance(
    triangles: Array, columns: Array, *, shapes: Sequence[Shape], spare: bool, buffers: Buffers
) -> Array:
    assert triangles.shape[1] == 1, "no key set changes what the variant fixes"
    answers, (key_sets, size) = max(len(triangles), len(columns)), columns.shape[1:]
    distances = np.empty((answers, key_sets))
    for rows in split_for_cache(answers, key_sets * len(triangles[0, 0])):
        left = select_part(triangles, rows)[:, 0]
        # With the key sets on the last axis, sums over the few rows run along contiguous numbers.
        rotated = buffers.scratch((rows.stop - rows.start, left.shape[1], key_sets))
        np.matmul(left[:, :, :size], select_part(columns, rows).swapaxes(1, 2), out=rotated)
        if left.shape[2] > size:
            rotated -= left[:, :, size:]
        distances[rows] = compute_norm(rotated.swapaxes(1, 2))
    return distances


def _make_shortfall(node: FunctionCall, weights: Node, target: Node) -> Node:
    size = target.shape.size
    ranked = FunctionCall(
        name="ranked",
        function=_RANKED,
        arguments=(target,),
        shapes=(target.shape,),
        shape=make_matrix_shape(2, size + 1),
        start=node.start,
    )
    return replace(
        node,
        function=_SHORTFALL,
        arguments=(ranked, weights),
        shapes=(ranked.shape, weights.shape),
    )


def _rank_targets(targets: Array, *, shapes: Sequence[Shape]) -> Array:
    """The numbers of each target, the largest first, above their places.

    In the last column stands half of what the target lacks to one.
    """
    places = np.argsort(-targets, axis=-1, kind="stable")
    ranked = np.zeros((*targets.shape[:2], 2, targets.shape[2] + 1))
    ranked[..., 0, :-1] = np.take_along_axis(targets, places, axis=-1)
    ranked[..., 1, :-1] = places
    ranked[..., 0, -1] = (1 - targets.sum(axis=-1)) / 2
    return ranked


def _compute_shortfall(
    ranked: Array, weights: Array, *, shapes: Sequence[Shape], spare: bool, buffers: Buffers
) -> Array:
    assert ranked.shape[1] == 1, "no key set changes what the variant fixes"
    # Where some answers give weight to fewer keys than others, the rest of theirs adds nothing.
    count = np.count_nonzero(np.maximum.reduce(ranked[:, 0, 0, :-1], axis=0) > 0)
    places = ranked[:, 0, 1, :count].astype(np.intp)
    answers, key_sets, keys = weights.shape
    if answers > 1:
        places = places + keys * np.arange(answers)[:, None]
    # Sampled weights have the key sets on the last axis in memory, so that nothing is copied here.
    lacking = weights.swapaxes(1, 2).reshape(answers * keys, key_sets).take(places, axis=0)
    np.subtract(ranked[:, 0, 0, :count, None], lacking, out=lacking)
    np.maximum(lacking, 0.0, out=lacking)
    total: Array = np.add.reduce(lacking, axis=1)
    total += ranked[:, 0, 0, -1:]
    return total


def _refuse_shapes(shapes: Sequence[Shape]) -> Shape:
    raise AssertionError("these functions have no name that could be called")


_TRIANGLE = Function((2, 2), _refuse_shapes, _compute_triangle)
_TRIANGLE_OF_DIFFERENCE = Function((2, 2), _refuse_shapes, _compute_triangle_of_difference)
_RANKED = Function((1, 1), _refuse_shapes, _rank_targets)
_SHORTFALL = Function((2, 2), _refuse_shapes, _compute_shortfall, reuses=True)
_REDUCED_DISTANCE = Function((2, 2), _refuse_shapes, _compute_reduced_distance, reuses=True)


def _map_children(node: N, change: Callable[[Node], Node]) -> N:
    """The node with its children changed; the node itself where none is."""
    changed: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            new: Any = change(value)
            if new is not value:
                changed[each.name] = new
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            new = tuple(change(item) if isinstance(item, Node) else item for item in value)
            if any(one is not other for one, other in zip(new, value, strict=True)):
                changed[each.name] = new
    return replace(node, **changed) if changed else node
