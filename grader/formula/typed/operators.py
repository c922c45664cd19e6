"""Operations on typed nodes: each checks the shapes and gives the node of the result.

Nothing broadcasts except by numbers. Messages say what was met and what would help.
"""

from __future__ import annotations

from grader.domain.shapes import (
    NUMBER,
    Kind,
    Shape,
    make_column_shape,
    make_matrix_shape,
    make_row_shape,
)
from grader.formula.errors import make_error
from grader.formula.text.plain_text import Precedence
from grader.formula.text.render import to_short_text
from grader.formula.typed import tree as t

_MIN_POWER, _MAX_POWER = -1, 8


def build_negation(operand: t.Node, span: t.Span) -> t.Node:
    """The negative of a value."""
    return t.Negate(shape=operand.shape, span=span, operand=operand)


def build_transpose(operand: t.Node, span: t.Span) -> t.Node:
    """The transpose of a value; a number is its own."""
    return t.Transpose(shape=operand.shape.transposed(), span=span, operand=operand)


def build_sum(left: t.Node, right: t.Node, *, sign: int) -> t.Node:
    """The sum of two values of one shape or, with `sign` -1, their difference."""
    span = t.join_spans(left.span, right.span)
    if left.shape != right.shape:
        verb, joint = ("add", "and") if sign == 1 else ("subtract", "from")
        first, second = (left, right) if sign == 1 else (right, left)
        raise make_error(
            f"Cannot {verb} {first.shape.describe()} {joint} {second.shape.describe()}.",
            span,
            hint=_describe_sum_hint(left, right),
        )
    return t.Add(shape=left.shape, span=span, left=left, right=right, sign=sign)


def _describe_sum_hint(left: t.Node, right: t.Node) -> str:
    if left.shape.transposed() == right.shape:
        flipped = right.operand if isinstance(right, t.Transpose) else None
        return f"Did you mean {to_short_text(flipped) if flipped else _base(right) + '^T'}?"
    if left.shape != NUMBER and right.shape != NUMBER:
        return ""
    other = right.shape if left.shape == NUMBER else left.shape
    if other.kind is Kind.COLUMN:
        return f"A column of equal numbers is written c ones({other.rows})."
    if other.kind is Kind.MATRIX and other.rows == other.columns:
        return "A number times the identity is written c I."
    return ""


def build_product(left: t.Node, right: t.Node) -> t.Node:
    """The product of two values, of whichever kind their shapes call for."""
    span = t.join_spans(left.span, right.span)
    found = _find_product(left.shape, right.shape)
    if found is None:
        raise make_error(
            _describe_product_error(left, right), span, hint=_describe_product_hint(left, right)
        )
    product, shape = found
    return t.Multiply(shape=shape, span=span, left=left, right=right, product=product)


def _find_product(first: Shape, second: Shape) -> tuple[t.Product, Shape] | None:
    """Which product two shapes make, and its shape; None where they make none."""
    match first.kind, second.kind:
        case Kind.NUMBER, _:
            return t.Product.SCALE, second
        case _, Kind.NUMBER:
            return t.Product.SCALE, first
        case Kind.ROW, Kind.COLUMN if first.columns == second.rows:
            return t.Product.DOT, NUMBER
        case Kind.COLUMN, Kind.ROW:
            return t.Product.OUTER, make_matrix_shape(first.rows, second.columns)
        case Kind.MATRIX, Kind.COLUMN if first.columns == second.rows:
            return t.Product.MATRIX_COLUMN, make_column_shape(first.rows)
        case Kind.ROW, Kind.MATRIX if first.columns == second.rows:
            return t.Product.ROW_MATRIX, make_row_shape(second.columns)
        case Kind.MATRIX, Kind.MATRIX if first.columns == second.rows:
            return t.Product.MATRIX_MATRIX, make_matrix_shape(first.rows, second.columns)
        case _:
            return None


def _are_columns(left: t.Node, right: t.Node) -> bool:
    return left.shape.kind is Kind.COLUMN and right.shape.kind is Kind.COLUMN


def _base(node: t.Node) -> str:
    """A node's text, ready for a superscript."""
    return to_short_text(node, Precedence.ATOM)


def _factor(node: t.Node) -> str:
    """A node's text, ready for another factor."""
    return to_short_text(node, Precedence.POWER)


def _describe_product_error(left: t.Node, right: t.Node) -> str:
    if _are_columns(left, right):
        return f"{_factor(left)} {_factor(right)} multiplies two column vectors."
    described = left.shape.describe()
    return f"{described[0].upper()}{described[1:]} cannot multiply {right.shape.describe()}."


def _describe_product_hint(left: t.Node, right: t.Node) -> str:
    if _are_columns(left, right):
        matrix_hint = f"{_factor(left)} {_base(right)}^T"
        if left.shape != right.shape:
            return f"For a matrix write {matrix_hint}."
        dot_hint = f"{_base(left)}^T {_factor(right)}"
        return f"For the dot product write {dot_hint}; for a matrix {matrix_hint}."
    is_plain = not isinstance(left, t.Transpose) and not isinstance(right, t.Transpose)
    if is_plain and _find_product(left.shape.transposed(), right.shape):
        return f"Perhaps {_base(left)}^T {_factor(right)}?"
    if is_plain and _find_product(left.shape, right.shape.transposed()):
        return f"Perhaps {_factor(left)} {_base(right)}^T?"
    if _find_product(right.shape, left.shape):
        return f"Perhaps the other way round: {_factor(right)} {_factor(left)}?"
    return ""


def build_dot_or_product(left: t.Node, right: t.Node) -> t.Node:
    """What `·` means: the dot product of two columns, else the product."""
    if _are_columns(left, right) and left.shape == right.shape:
        left = build_transpose(left, left.span)
    return build_product(left, right)


def build_tensor_product(left: t.Node, right: t.Node) -> t.Node:
    """What `⊗` means: the matrix that two columns make; nothing else."""
    if not _are_columns(left, right):
        raise make_error("⊗ takes two column vectors.", t.join_spans(left.span, right.span))
    return build_product(left, build_transpose(right, right.span))


def build_quotient(left: t.Node, right: t.Node) -> t.Node:
    """A value divided by a number."""
    if right.shape != NUMBER:
        inverse = (
            f"For the inverse write inv({to_short_text(right)})."
            if right.shape.kind is Kind.MATRIX and right.shape.rows == right.shape.columns
            else ""
        )
        raise make_error(
            f"One can divide by a number only, but {to_short_text(right)} is "
            f"{right.shape.describe()}.",
            right.span,
            hint=inverse,
        )
    span = t.join_spans(left.span, right.span)
    return t.Divide(shape=left.shape, span=span, left=left, right=right)


def build_power(base: t.Node, exponent: t.Node) -> t.Node:
    """A number to the power of a number, or a square matrix to a small whole power."""
    span = t.join_spans(base.span, exponent.span)
    if base.shape == NUMBER and exponent.shape == NUMBER:
        return t.Power(shape=NUMBER, span=span, base=base, exponent=exponent)
    whole = t.find_whole_number(exponent)
    is_square = base.shape.kind is Kind.MATRIX and base.shape.rows == base.shape.columns
    if is_square and whole is not None and _MIN_POWER <= whole <= _MAX_POWER:
        return t.MatrixPower(shape=base.shape, span=span, base=base, exponent=whole)
    raise make_error(
        f"{to_short_text(base)} is {base.shape.describe()} and cannot be raised to this.",
        span,
        hint=_describe_power_hint(base, is_square=is_square),
    )


def _describe_power_hint(base: t.Node, *, is_square: bool) -> str:
    written = _base(base)
    if base.shape.kind is Kind.COLUMN:
        return f"For the squared length write {written}^T {written}; the transpose is {written}^T."
    if base.shape.kind is Kind.ROW:
        return f"For the squared length write norm({to_short_text(base)})^2."
    if is_square:
        return f"Matrices have the whole powers from {_MIN_POWER} to {_MAX_POWER}."
    if base.shape.kind is Kind.MATRIX:
        return f"Only a square matrix has powers; the transpose is {written}^T."
    return ""


def build_stack(items: list[t.Node], span: t.Span) -> t.Node:
    """A list: numbers make a column, vectors the rows of a matrix; a single one is itself."""
    first = items[0].shape
    if len(items) == 1:
        return items[0]
    if any(item.shape != first for item in items) or first.kind is Kind.MATRIX:
        raise make_error("A list takes numbers, or vectors of one length.", span)
    shape = (
        make_column_shape(len(items))
        if first == NUMBER
        else make_matrix_shape(len(items), first.size)
    )
    return t.Stack(shape=shape, span=span, items=tuple(items))
