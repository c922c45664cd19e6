"""Identity matrices without a written size: they get it from what they meet.

A node whose shape is `OPEN_SQUARE` is an identity matrix, or is made of such matrices and numbers
only; all of them have the same size. As soon as it meets a value that has a size, it is built again
with that size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from grader.domain.shapes import OPEN_SQUARE, Kind, Shape, make_matrix_shape
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.eval.functions import Function, ShapeError
from grader.formula.typed import tree as t
from grader.formula.typed.scope import IDENTITY, FormulaScope

#: The largest size that may be written, as in `zeros(1024)`.
MAX_SIZE = 1024


def set_size(node: t.Node, shape: Shape) -> t.Node:
    """The node with this shape, if its size was open; any other node as it is."""
    if node.shape != OPEN_SQUARE or shape == OPEN_SQUARE:
        return node
    changed: dict[str, Any] = {"shape": shape}
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if isinstance(value, t.Node):
            changed[name] = set_size(value, shape)
        elif isinstance(value, tuple):
            changed[name] = tuple(_set_size_inside(each, shape) for each in value)
    return replace(node, **changed)


def _set_size_inside(value: object, shape: Shape) -> object:
    """An argument of a function with this shape, or the shape that the function notes of it."""
    if isinstance(value, t.Node):
        return set_size(value, shape)
    return shape if value == OPEN_SQUARE else value


def fit_terms(first: Shape, second: Shape) -> tuple[Shape, Shape]:
    """The shapes of two values that must be alike, an open one with the size of the other."""
    if is_square(second) and first == OPEN_SQUARE:
        return second, second
    if is_square(first) and second == OPEN_SQUARE:
        return first, first
    return first, second


def fit_factors(first: Shape, second: Shape) -> tuple[Shape, Shape]:
    """The shapes of two factors, an open one with the size that the other needs."""
    if first == OPEN_SQUARE and second.kind in (Kind.COLUMN, Kind.MATRIX):
        return make_matrix_shape(second.rows, second.rows), second
    if second == OPEN_SQUARE and first.kind in (Kind.ROW, Kind.MATRIX):
        return first, make_matrix_shape(first.columns, first.columns)
    return first, second


def fit_arguments(function: Function, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """The shapes of a function's arguments, open ones with the size that the others leave them.

    They stay open where no size of another argument fits, or more than one does.
    """
    if OPEN_SQUARE not in shapes:
        return tuple(shapes)
    sizes = {size for shape in shapes if shape != OPEN_SQUARE for size in shape.axes}
    fitting = [
        fitted
        for size in sizes
        if _accepts(function, fitted := _fill(shapes, make_matrix_shape(size, size)))
    ]
    return fitting[0] if len(fitting) == 1 else tuple(shapes)


def _fill(shapes: Iterable[Shape], square: Shape) -> tuple[Shape, ...]:
    return tuple(square if shape == OPEN_SQUARE else shape for shape in shapes)


def _accepts(function: Function, shapes: Sequence[Shape]) -> bool:
    try:
        function.shape(shapes)
    except ShapeError:
        return False
    return True


def is_square(shape: Shape) -> bool:
    """Whether a shape is that of a square matrix, of a known size or not."""
    return shape.kind is Kind.MATRIX and shape.rows == shape.columns


def make_open_size_error(node: t.Node, scope: FormulaScope) -> FormulaError:
    """The error of an identity matrix whose size nothing tells."""
    start = min(
        each.start
        for each in t.list_nodes(node)
        if isinstance(each, t.Identity) and each.shape == OPEN_SQUARE
    )
    examples = [f"{IDENTITY}_3", *(f"{IDENTITY}_{name}" for name in _list_size_names(scope)[:1])]
    return make_error(
        f"The size of {IDENTITY} does not follow from its place.",
        start,
        hint=f"Write it as a subscript: {' or '.join(examples)}.",
        code="formula.subscript",
    )


def _list_size_names(scope: FormulaScope) -> list[str]:
    """The names of numbers that can be sizes."""
    return [
        name
        for name, value in scope.constants.items()
        if value == int(value) and 1 <= value <= MAX_SIZE
    ]


def settle_size(node: t.Node, scope: FormulaScope, shape: Shape | None) -> t.Node:
    """The whole tree of a formula, which no longer has an open size.

    Parameters
    ----------
    shape
        The shape that is asked for; None where any will do.

    Raises
    ------
    FormulaError
        Where nothing tells the size, or something else than a square matrix is asked for.
    """
    if node.shape != OPEN_SQUARE:
        return node
    if shape is None:
        raise make_open_size_error(node, scope)
    if not is_square(shape):
        raise make_error(
            f"This must be {shape.describe()}, but it is {node.shape.describe()}.",
            node.start,
            hint=f"The size of {IDENTITY} can be written as a subscript: {IDENTITY}_3."
            if shape.kind is Kind.MATRIX
            else "",
            code="answer.shape",
        )
    return set_size(node, shape)
