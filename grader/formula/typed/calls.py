"""Functions applied to typed nodes: how many arguments, which shapes, which sizes."""

from __future__ import annotations

from grader.domain.shapes import CONDITION, NUMBER, Kind, make_column_shape, make_matrix_shape
from grader.formula.errors import make_error
from grader.formula.eval.functions import Function, ShapeError
from grader.formula.typed import tree as t
from grader.formula.typed.scope import FormulaScope

#: The largest size that may be written, as in `zeros(1024)`.
MAX_SIZE = 1024

_IDENTITIES = ("identity", "eye")


def build_call(name: str, function: Function, arguments: list[t.Node], span: t.Span) -> t.Node:
    """A function applied to values."""
    least, most = function.arguments
    if function.sizes or function.index or not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise make_error(
            f"{name} takes {wanted} argument{'s' * (most > 1)} in brackets; "
            f"it is given {len(arguments)}.",
            span,
            code="formula.arguments",
        )
    shapes = tuple(argument.shape for argument in arguments)
    if CONDITION in shapes and not function.over_key_sets:
        raise make_error(f"{name} takes values, but it is given a comparison.", span)
    try:
        shape = function.shape(shapes)
    except ShapeError as refused:
        raise make_error(f"{name} {refused}.", span) from None
    return t.FunctionCall(
        shape=shape,
        span=span,
        name=name,
        function=function,
        arguments=tuple(arguments),
        shapes=shapes,
    )


def build_sized_call(name: str, function: Function, sizes: list[t.Node], span: t.Span) -> t.Node:
    """A function of sizes that are known beforehand, such as `zeros(n, d)`."""
    whole = [t.find_whole_number(size) for size in sizes]
    known = tuple(size for size in whole if size is not None and 1 <= size <= MAX_SIZE)
    least, most = function.arguments
    if len(known) != len(whole) or not least <= len(known) <= most:
        raise make_error(
            f"{name} takes sizes: whole numbers such as 3 or n.", span, code="formula.arguments"
        )
    if name in _IDENTITIES:
        return t.Identity(shape=make_matrix_shape(known[0], known[0]), span=span)
    shape = make_column_shape(known[0]) if len(known) == 1 else make_matrix_shape(*known)
    return t.SizedCall(shape=shape, span=span, name=name, function=function, sizes=known)


def build_identity(label: str, scope: FormulaScope, span: t.Span) -> t.Node:
    """The identity matrix with the size that a subscript names, or `d` without one."""
    size = scope.constants.get(label, 0) if not label.isdecimal() else float(label)
    if not 1 <= size <= MAX_SIZE or size != int(size):
        raise make_error(
            f"The identity cannot have this size; it goes from 1 to {MAX_SIZE}.",
            span,
            hint="Say it as a subscript: I_3.",
            code="formula.subscript",
        )
    return t.Identity(shape=make_matrix_shape(int(size), int(size)), span=span)


def build_unit_vector(label: str, scope: FormulaScope, span: t.Span) -> t.Node:
    """The vector that is 1 at a drawn index; `n` says how long it is."""
    if label not in scope.indices or "n" not in scope.constants:
        raise make_error("unit takes one index.", span, code="formula.arguments")
    return t.UnitVector(shape=make_column_shape(int(scope.constants["n"])), span=span, index=label)


def build_bars(
    operand: t.Node, *, is_single: bool, which: str, scope: FormulaScope, span: t.Span
) -> t.Node:
    """What bars mean: the absolute value of a number, the length of a vector.

    Parameters
    ----------
    is_single
        Whether it is `|x|` and not `‖x‖`.
    which
        The subscript behind the bars, which may name the norm; empty where there is none.
    """
    if is_single and operand.shape.kind is Kind.MATRIX:
        raise make_error(
            "Single bars around a matrix could be its determinant.",
            span,
            hint="For the Frobenius norm write norm(…).",
            code="formula.syntax",
        )
    named = {Kind.COLUMN: "2", Kind.ROW: "2", Kind.MATRIX: "F"}.get(operand.shape.kind, "")
    if which not in ("", named):
        raise make_error(
            f"The norm with the subscript {which} is not known here.",
            span,
            hint="Vectors have the Euclidean norm, matrices the Frobenius norm.",
            code="formula.syntax",
        )
    name = "abs" if operand.shape == NUMBER else "norm"
    return build_call(name, scope.functions[name], [operand], span)
