"""Operations and functions on typed nodes: each checks shapes and builds the node of the result.

Nothing broadcasts except numbers. An identity matrix without a size gets it from the value that it
meets. Messages say what was found and what would help.
"""

from __future__ import annotations

from dataclasses import replace

from grader.domain.shapes import (
    CONDITION,
    NUMBER,
    OPEN_SQUARE,
    Kind,
    Shape,
    make_column_shape,
    make_matrix_shape,
    make_row_shape,
)
from grader.formula.errors import make_error
from grader.formula.eval.functions import Function, ShapeError
from grader.formula.render import Precedence, to_short_text
from grader.formula.typed import tree as t
from grader.formula.typed.open_sizes import (
    MAX_SIZE,
    fit_arguments,
    fit_factors,
    fit_terms,
    is_square,
    make_open_size_error,
    set_size,
)
from grader.formula.typed.scope import Family, FormulaScope

_MIN_POWER, _MAX_POWER = -1, 8
_IDENTITIES = ("identity", "eye")


def build_transpose(operand: t.Node, start: int) -> t.Node:
    """The transpose of a value; a number is its own transpose."""
    return t.Transpose(shape=operand.shape.transposed(), start=start, operand=operand)


def build_sum(left: t.Node, right: t.Node, *, sign: int) -> t.Node:
    """The sum of two values of the same shape or, with `sign` -1, their difference."""
    first_shape, second_shape = fit_terms(left.shape, right.shape)
    left, right = set_size(left, first_shape), set_size(right, second_shape)
    if left.shape != right.shape:
        verb, joint = ("add", "and") if sign == 1 else ("subtract", "from")
        first, second = (left, right) if sign == 1 else (right, left)
        raise make_error(
            f"Cannot {verb} {first.shape.describe()} {joint} {second.shape.describe()}.",
            left.start,
            hint=_describe_sum_hint(left, right),
        )
    return t.Add(shape=left.shape, start=left.start, left=left, right=right, sign=sign)


def _describe_sum_hint(left: t.Node, right: t.Node) -> str:
    if left.shape.transposed() == right.shape:
        flipped = right.operand if isinstance(right, t.Transpose) else None
        return f"Did you mean {to_short_text(flipped) if flipped else _base(right) + '^T'}?"
    if left.shape != NUMBER and right.shape != NUMBER:
        return ""
    other = right.shape if left.shape == NUMBER else left.shape
    if other.kind is Kind.COLUMN:
        return f"Write a column of equal numbers as c ones({other.rows})."
    if is_square(other):
        return "Write a number times the identity as c I."
    return ""


def build_product(left: t.Node, right: t.Node) -> t.Node:
    """The product of two values, of the kind that their shapes need."""
    found = _find_product(left.shape, right.shape)
    if found is None:
        raise make_error(
            _describe_product_error(left, right),
            left.start,
            hint=_describe_product_hint(left, right),
        )
    product, shape = found
    first, second = fit_factors(left.shape, right.shape)
    left, right = set_size(left, first), set_size(right, second)
    return t.Multiply(shape=shape, start=left.start, left=left, right=right, product=product)


def _find_product(first: Shape, second: Shape) -> tuple[t.Product, Shape] | None:
    """The kind of product of two shapes, and its shape; None where there is none."""
    first, second = fit_factors(first, second)
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
        return f"Cannot multiply two column vectors: {_factor(left)} {_factor(right)}."
    return f"Cannot multiply {left.shape.describe()} by {right.shape.describe()}."


def _describe_product_hint(left: t.Node, right: t.Node) -> str:
    if _are_columns(left, right):
        matrix_hint = f"{_factor(left)} {_base(right)}^T"
        if left.shape != right.shape:
            return f"For the outer product write {matrix_hint}."
        dot_hint = f"{_base(left)}^T {_factor(right)}"
        return f"For the dot product write {dot_hint}; for the outer product {matrix_hint}."
    is_plain = not isinstance(left, t.Transpose) and not isinstance(right, t.Transpose)
    if is_plain and _find_product(left.shape.transposed(), right.shape):
        return f"Perhaps {_base(left)}^T {_factor(right)}?"
    if is_plain and _find_product(left.shape, right.shape.transposed()):
        return f"Perhaps {_factor(left)} {_base(right)}^T?"
    if _find_product(right.shape, left.shape):
        return f"Perhaps the other way round: {_factor(right)} {_factor(left)}?"
    return ""


def build_dot_or_product(left: t.Node, right: t.Node) -> t.Node:
    """The meaning of `·`: the dot product of two columns, otherwise the product."""
    if _are_columns(left, right) and left.shape == right.shape:
        left = build_transpose(left, left.start)
    return build_product(left, right)


def build_tensor_product(left: t.Node, right: t.Node) -> t.Node:
    """The meaning of `⊗`: the outer product of two columns."""
    if not _are_columns(left, right):
        raise make_error("⊗ needs two column vectors.", left.start)
    return build_product(left, build_transpose(right, right.start))


def build_quotient(left: t.Node, right: t.Node) -> t.Node:
    """A value divided by a number."""
    if right.shape != NUMBER:
        inverse = (
            f"For the inverse write inv({to_short_text(right)})." if is_square(right.shape) else ""
        )
        raise make_error(
            f"Cannot divide by {to_short_text(right)}, which is {right.shape.describe()}; "
            "a divisor must be a number.",
            right.start,
            hint=inverse,
        )
    return t.Divide(shape=left.shape, start=left.start, left=left, right=right)


def build_power(base: t.Node, exponent: t.Node) -> t.Node:
    """A number to the power of a number, or a square matrix to a small whole power."""
    if base.shape == NUMBER and exponent.shape == NUMBER:
        return t.Power(shape=NUMBER, start=base.start, base=base, exponent=exponent)
    whole = t.find_whole_number(exponent)
    if is_square(base.shape) and whole is not None and _MIN_POWER <= whole <= _MAX_POWER:
        return t.MatrixPower(shape=base.shape, start=base.start, base=base, exponent=whole)
    raise make_error(
        f"{to_short_text(base)} is {base.shape.describe()} and cannot be raised to this power.",
        base.start,
        hint=_describe_power_hint(base),
    )


def _describe_power_hint(base: t.Node) -> str:
    written = _base(base)
    if base.shape.kind is Kind.COLUMN:
        return f"For the squared length write {written}^T {written}; the transpose is {written}^T."
    if base.shape.kind is Kind.ROW:
        return f"For the squared length write norm({to_short_text(base)})^2."
    if is_square(base.shape):
        return f"A square matrix can be raised to whole powers from {_MIN_POWER} to {_MAX_POWER}."
    if base.shape.kind is Kind.MATRIX:
        return f"Only a square matrix can be raised to a power; the transpose is {written}^T."
    return ""


def build_stack(items: list[t.Node], start: int) -> t.Node:
    """A list: numbers make a column, vectors the rows of a matrix; a single item stays itself."""
    first = items[0].shape
    if len(items) == 1:
        return items[0]
    if any(item.shape != first for item in items) or first.kind is Kind.MATRIX:
        raise make_error("A list may contain numbers, or vectors of one length.", start)
    shape = (
        make_column_shape(len(items))
        if first == NUMBER
        else make_matrix_shape(len(items), first.size)
    )
    return t.Stack(shape=shape, start=start, items=tuple(items))


def find_column(node: t.Node) -> t.Node | None:
    """The column that a row of listed numbers, `2 [1, 0]^T`, stands for on paper.

    None for any other row, such as `mu_a^T`.
    """
    match node:
        case t.Transpose(operand=t.Stack(shape=shape) as column) if shape.kind is Kind.COLUMN:
            return replace(column, start=node.start)
        case t.Negate(operand=operand) if inner := find_column(operand):
            return replace(node, shape=inner.shape, operand=inner)
        case t.Divide(left=left) if inner := find_column(left):
            return replace(node, shape=inner.shape, left=inner)
        case t.Multiply(left=left, right=right, product=t.Product.SCALE):
            first, second = find_column(left), find_column(right)
            inner = first or second
            return inner and replace(
                node, shape=inner.shape, left=first or left, right=second or right
            )
        case _:
            return None


# Functions


def build_call(
    name: str, function: Function, arguments: list[t.Node], scope: FormulaScope, start: int
) -> t.Node:
    """A function applied to values."""
    least, most = function.arguments
    if function.sizes or function.index or not least <= len(arguments) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        raise make_error(
            f"{name} takes {count} argument{'s' * (most > 1)} in brackets, not {len(arguments)}.",
            start,
            code="formula.arguments",
        )
    shapes = fit_arguments(function, [argument.shape for argument in arguments])
    if CONDITION in shapes and not function.over_key_sets:
        raise make_error(f"{name} takes values, not a comparison.", start)
    try:
        shape = function.shape(shapes)
    except ShapeError as refused:
        raise make_error(f"{name} {refused}.", start) from None
    if OPEN_SQUARE in shapes and shape != OPEN_SQUARE:
        raise make_open_size_error(arguments[shapes.index(OPEN_SQUARE)], scope)
    return t.FunctionCall(
        shape=shape,
        start=start,
        name=name,
        function=function,
        arguments=tuple(map(set_size, arguments, shapes)),
        shapes=shapes,
    )


def build_matrix_dot(arguments: list[t.Node], start: int) -> t.Node:
    """The meaning of `dot` with a matrix, which is NumPy's: the product."""
    if len(arguments) != 2:
        raise make_error(
            f"dot takes 2 arguments in brackets, not {len(arguments)}.",
            start,
            code="formula.arguments",
        )
    return replace(build_product(*arguments), start=start)


def build_member_sum(family: Family, scope: FormulaScope, start: int) -> t.Node:
    """The sum of all members of a family, as a column."""
    shape = make_matrix_shape(family.count, family.length)
    if family.by_columns:
        shape = shape.transposed()
    matrix: t.Node = t.Name(shape=shape, start=start, name=family.source)
    if not family.by_columns:
        matrix = build_transpose(matrix, start)
    count = t.Number(shape=NUMBER, start=start, value=family.count, text=str(family.count))
    return build_product(matrix, build_sized_call("ones", scope.functions["ones"], [count], start))


def build_sized_call(name: str, function: Function, sizes: list[t.Node], start: int) -> t.Node:
    """A function of sizes that are known in advance, such as `zeros(n, d)`."""
    whole = [t.find_whole_number(size) for size in sizes]
    known = tuple(size for size in whole if size is not None and 1 <= size <= MAX_SIZE)
    least, most = function.arguments
    if len(known) != len(whole) or not least <= len(known) <= most:
        raise make_error(
            f"{name} takes sizes: whole numbers from 1 to {MAX_SIZE}, such as 3 or n.",
            start,
            code="formula.arguments",
        )
    if name in _IDENTITIES:
        return t.Identity(shape=make_matrix_shape(known[0], known[0]), start=start)
    shape = make_column_shape(known[0]) if len(known) == 1 else make_matrix_shape(*known)
    return t.SizedCall(shape=shape, start=start, name=name, function=function, sizes=known)


def build_identity(label: str, scope: FormulaScope, start: int) -> t.Node:
    """The identity matrix of the size that a subscript names."""
    size = scope.constants.get(label, 0) if not label.isdecimal() else float(label)
    if not 1 <= size <= MAX_SIZE or size != int(size):
        raise make_error(
            f"The size of the identity matrix must be a whole number from 1 to {MAX_SIZE}.",
            start,
            hint="Write it as a subscript: I_3.",
            code="formula.subscript",
        )
    return t.Identity(shape=make_matrix_shape(int(size), int(size)), start=start)


def build_unit_vector(index: str, size: t.Node | None, scope: FormulaScope, start: int) -> t.Node:
    """The vector that is 1 at a drawn index and 0 elsewhere; `size` is its length, if written."""
    if index not in scope.indices:
        raise make_error(
            "unit takes a drawn index, and its length if you like: unit(a) or unit(a, n).",
            start,
            code="formula.arguments",
        )
    length = scope.indices[index]
    if size is not None and t.find_whole_number(size) != length:
        raise make_error(
            f"{index} is one of {length}, so unit({index}) has {length} entries, "
            f"not {to_short_text(size)}.",
            size.start,
            code="formula.arguments",
        )
    return t.UnitVector(shape=make_column_shape(length), start=start, index=index)


def build_bars(
    operand: t.Node, *, is_single: bool, which: str, scope: FormulaScope, start: int
) -> t.Node:
    """The meaning of bars: the absolute value of a number, the norm of a vector or matrix.

    Parameters
    ----------
    is_single
        Whether it is `|x|` and not `‖x‖`.
    which
        The subscript after the bars, which may name the norm; empty where there is none.
    """
    if is_single and operand.shape.kind is Kind.MATRIX:
        raise make_error(
            "Single bars around a matrix are ambiguous: they could mean its determinant.",
            start,
            hint="For the Frobenius norm write norm(…).",
            code="formula.syntax",
        )
    named = {Kind.COLUMN: "2", Kind.ROW: "2", Kind.MATRIX: "F"}.get(operand.shape.kind, "")
    if which not in ("", named):
        raise make_error(
            f"The norm with the subscript {which} is not supported here.",
            start,
            hint="Bars mean the Euclidean norm of a vector and the Frobenius norm of a matrix.",
            code="formula.syntax",
        )
    name = "abs" if operand.shape == NUMBER else "norm"
    return build_call(name, scope.functions[name], [operand], scope, start)
