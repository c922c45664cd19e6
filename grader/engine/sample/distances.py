"""Distances from a point that the variant fixes, measured in fewer dimensions.

`|M x - t|` with a (d, n) matrix M is `|R (x, -1)|`, where R is the triangle in the QR decomposition
of M with t beside it. Lengths stay the same because a rotation keeps them, and so do their digits:
unlike with a Gram matrix, nothing is squared before it is subtracted. R has n + 1 rows instead of
d, and it is computed once for a variant, while x differs from key set to key set.

Where x is a softmax, its numbers sum to one, and `M x - t` is `(M - t 1^T) x`: then R is the
triangle of this difference, and nothing need be subtracted on every key set.

The total variation of a softmax w from weights t is, because w sums to one and is never negative,
`sum of max(t_i - w_i, 0)` and `(1 - sum of t) / 2`: only the keys that t gives weight to count.

Both read the weights of some answers at a time, and of some keys where the others have none: see
`readings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape, make_matrix_shape
from grader.formula.eval.buffers import Buffers, select_part, split_for_cache
from grader.formula.eval.functions import Function, compute_norm
from grader.formula.typed.tree import FunctionCall, Multiply, Name, Node, Product

Array = NDArray[Any]
Places = NDArray[np.intp]

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
        right = select_part(columns, rows).swapaxes(1, 2)
        shift = left[:, :, size:] if left.shape[2] > size else None
        distances[rows] = _compute_lengths(left[:, :, :size], right, shift, buffers)
    return distances


def _compute_lengths(left: Array, right: Array, shift: Array | None, buffers: Buffers) -> Array:
    """The lengths of products minus a shift, for (b, r, n) and (b, n, S) arrays."""
    # With the key sets on the last axis, sums over the few rows run along contiguous numbers.
    rotated = buffers.scratch((max(len(left), len(right)), left.shape[1], right.shape[2]))
    np.matmul(left, right, out=rotated)
    if shift is not None:
        rotated -= shift
    return compute_norm(rotated.swapaxes(1, 2))


def _read_distances(
    triangles: Array, weights: Array, places: Places | None, buffers: Buffers
) -> Array:
    left = triangles[:, 0]
    if places is not None:
        left = take_places(left.swapaxes(1, 2), places).swapaxes(1, 2)
        # Few columns need few rows, but for a single answer another rotation takes longer.
        if len(left) > 1:
            left = np.asarray(np.linalg.qr(left, mode="r"))
    return _compute_lengths(left, weights, None, buffers)


def take_places(values: Array, places: Places) -> Array:
    """For each answer the values of some keys: (b or 1, n, …) to (b, m, …)."""
    if len(values) == 1:
        return np.asarray(values[0][places])
    return np.asarray(values[np.arange(len(values))[:, None], places])


def _compute_effects(*triangles: Array, shapes: Sequence[Shape]) -> Array:
    squares = [np.einsum("bsri,bsri->bsi", each, each) for each in triangles]
    rows = [np.ones_like(squares[0]), *squares] if squares else [np.ones((1, 1, 1))]
    return np.asarray(np.log(np.stack(rows, axis=2)) / 2)


def _make_shortfall(node: FunctionCall, weights: Node, target: Node) -> Node:
    size = target.shape.size
    ranked = FunctionCall(
        name="ranked",
        function=_RANKED,
        arguments=(target,),
        shapes=(target.shape,),
        shape=make_matrix_shape(3, size + 1),
        start=node.start,
    )
    return replace(
        node,
        function=_SHORTFALL,
        arguments=(ranked, weights),
        shapes=(ranked.shape, weights.shape),
    )


def _rank_targets(targets: Array, *, shapes: Sequence[Shape]) -> Array:
    """The numbers of each target, the largest first, above their places, above them in order.

    Below zero they are zero: no weight is less. In the last column stands half of what the target
    lacks to one, in the third row with the sum of the target added.
    """
    places = np.argsort(-targets, axis=-1, kind="stable")
    some = np.maximum(targets, 0.0)
    ranked = np.zeros((*targets.shape[:2], 3, targets.shape[2] + 1))
    ranked[..., 0, :-1] = np.take_along_axis(some, places, axis=-1)
    ranked[..., 1, :-1] = places
    ranked[..., 2, :-1] = some
    ranked[..., 0, -1] = (1 - targets.sum(axis=-1)) / 2
    ranked[..., 2, -1] = ranked[..., 0, -1] + some.sum(axis=-1)
    return ranked


def _compute_shortfall(
    ranked: Array, weights: Array, *, shapes: Sequence[Shape], spare: bool, buffers: Buffers
) -> Array:
    assert ranked.shape[1] == 1, "no key set changes what the variant fixes"
    return _read_shortfalls(ranked, weights.swapaxes(1, 2), None, buffers)


def _read_shortfalls(
    ranked: Array, weights: Array, places: Places | None, buffers: Buffers
) -> Array:
    if places is None:
        # Where some answers give weight to fewer keys than others, the rest of theirs adds nothing.
        count = np.count_nonzero(np.maximum.reduce(ranked[:, 0, 0, :-1], axis=0) > 0)
        wanted, rest = ranked[:, 0, 0, :count], ranked[:, 0, 0, -1]
        weights = _take_weights(weights, ranked[:, 0, 1, :count].astype(np.intp))
    else:
        # Keys without a place lack all of their target.
        wanted = take_places(ranked[:, 0, 2], places)
        rest = ranked[:, 0, 2, -1] - np.add.reduce(wanted, axis=1)
    lacking = buffers.scratch(weights.shape)
    np.subtract(wanted[:, :, None], weights, out=lacking)
    np.maximum(lacking, 0.0, out=lacking)
    total: Array = np.add.reduce(lacking, axis=1)
    total += rest[:, None]
    return total


def _take_weights(weights: Array, wanted: Places) -> Array:
    """The weights of the wanted keys of each answer."""
    answers, keys, key_sets = weights.shape
    if answers > 1:
        wanted = wanted + keys * np.arange(answers)[:, None]
    # Sampled weights have the key sets on the last axis in memory, so that nothing is copied here.
    return weights.reshape(answers * keys, key_sets).take(wanted, axis=0)


def _refuse_shapes(shapes: Sequence[Shape]) -> Shape:
    raise AssertionError("these functions have no name that could be called")


_TRIANGLE = Function((2, 2), _refuse_shapes, _compute_triangle)
_TRIANGLE_OF_DIFFERENCE = Function((2, 2), _refuse_shapes, _compute_triangle_of_difference)
_RANKED = Function((1, 1), _refuse_shapes, _rank_targets)
_SHORTFALL = Function((2, 2), _refuse_shapes, _compute_shortfall, reuses=True)
_EFFECTS = Function((0, 8), _refuse_shapes, _compute_effects)
_REDUCED_DISTANCE = Function((2, 2), _refuse_shapes, _compute_reduced_distance, reuses=True)


#: How a distance is read from the weights of some answers: takes what the variants fix, weights of
#: shape (b, m, S), the places of these m keys of shape (b, m), or None where they are all keys in
#: order, and buffers. Returns distances of shape (b, S).
Reader = Callable[[Array, Array, Places | None, Buffers], Array]

#: Those of the functions that read weights, their last argument.
READERS: Mapping[Function, Reader] = MappingProxyType(
    {_SHORTFALL: _read_shortfalls, _REDUCED_DISTANCE: _read_distances}
)


def make_effects(readers: Sequence[FunctionCall]) -> Node:
    """The logarithms of how much each key's weight moves what is read, one row for each reader.

    They are zero for a total variation, and depend on the variant alone.
    """
    triangles = [each.arguments[0] for each in readers if each.function is _REDUCED_DISTANCE]
    return FunctionCall(
        name="effects",
        function=_EFFECTS,
        arguments=tuple(triangles),
        shapes=tuple(each.shape for each in triangles),
        shape=make_matrix_shape(1 + len(triangles), readers[0].arguments[-1].shape.size),
        start=readers[0].start,
    )


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
