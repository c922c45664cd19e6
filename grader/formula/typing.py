"""Parse tree → typed tree: every operation is checked for exact shapes beforehand.

Nothing broadcasts except by numbers. Messages say what was met and what would help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lark import Token, Tree

from grader.domain.shapes import CONDITION, NUMBER, Kind, Shape, column, matrix
from grader.errors import FormulaError
from grader.formula import tree as t
from grader.formula.functions import Function, ShapeRefused
from grader.formula.scope import Family, Scope
from grader.formula.series import Header
from grader.formula.tokens import Subscripted


def assign_shapes(parsed: Tree[Token], *, text: str, scope: Scope) -> t.Node:
    """Turn a parse tree into a typed tree."""
    return _Typist(text, scope).build(parsed)


class _Typist:
    """Builds typed nodes, one method for each rule of the grammar."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.bound: dict[str, int] = {}

    def build(self, parsed: Any) -> t.Node:
        method: Callable[..., t.Node] = getattr(self, f"_{parsed.data}")
        return method(*parsed.children)

    # Leaves

    def _number(self, token: Token) -> t.Node:
        value = float(token)
        if not math.isfinite(value):
            raise self._error(f"{token[:20]} is too large a number.", _span(token), "formula.limit")
        return t.Number(shape=NUMBER, span=_span(token), value=value, text=str(token))

    def _name(self, token: Token) -> t.Node:
        name, span = str(token), _span(token)
        if name in self.scope.constants:
            return t.Number(
                shape=NUMBER, span=span, value=float(self.scope.constants[name]), text=name
            )
        if name in self.scope.shapes:
            return t.Name(shape=self.scope.shapes[name], span=span, name=name)
        if name == "I" and "d" in self.scope.constants:
            return self._identity("d", span)
        if name in self.scope.families:
            example = next(iter(self.scope.families[name].labels), "1")
            raise self._error(
                f"{name} needs a subscript.", span, "formula.subscript", f"Write {name}_{example}."
            )
        raise self._error(
            f"{name} is an index.", span, "formula.subscript", "It stands in subscripts only."
        )

    def _identity(self, size: str, span: t.Span) -> t.Node:
        rows = int(size) if size.isdigit() else int(self.scope.constants[size])
        return t.Identity(shape=matrix(rows, rows), span=span)

    def _member(self, token: Token) -> t.Node:
        subscripted: Subscripted = token.value
        span = _span(token)
        if subscripted.name == "I":
            return self._identity(subscripted.label, span)
        family = self.scope.families[subscripted.name]
        return t.Member(
            shape=family.member_shape,
            span=span,
            name=subscripted.name,
            label=subscripted.label,
            family=family,
            position=self._position(subscripted.label, family, span),
        )

    def _position(self, label: str, family: Family, span: t.Span) -> int | str:
        if label in self.bound:
            return label
        if label in family.labels:
            return family.labels[label]
        if label.isdigit() and 1 <= int(label) <= family.count:
            return int(label) - 1
        if label.isdigit():
            raise self._error(
                f"There is no member {label}: they are numbered from 1 to {family.count}.",
                span,
                "formula.subscript",
            )
        raise self._error(f"The index {label} is used outside its sum.", span, "formula.subscript")

    # Operations

    def _group(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        return self.build(inner)

    def _same(self, sign: Token, operand: Any) -> t.Node:
        return self.build(operand)

    def _negate(self, sign: Token, operand: Any) -> t.Node:
        node = self._value(operand)
        return t.Negate(shape=node.shape, span=_join(_span(sign), node.span), operand=node)

    def _add(self, left: Any, sign: Token, right: Any) -> t.Node:
        return self._sum_of(left, right, 1)

    def _subtract(self, left: Any, sign: Token, right: Any) -> t.Node:
        return self._sum_of(left, right, -1)

    def _sum_of(self, left: Any, right: Any, sign: int) -> t.Node:
        first, second = self._value(left), self._value(right)
        span = _join(first.span, second.span)
        if first.shape != second.shape:
            verb = "add" if sign == 1 else "subtract"
            raise self._error(
                f"Cannot {verb} {first.shape.describe()} and {second.shape.describe()}.",
                span,
                "formula.shape",
                self._sum_hint(first, second),
            )
        return t.Add(shape=first.shape, span=span, left=first, right=second, sign=sign)

    def _sum_hint(self, first: t.Node, second: t.Node) -> str:
        if first.shape.transposed() == second.shape:
            return f"Transpose one of them: {self._written(second)}^T."
        kinds = {first.shape.kind, second.shape.kind}
        if kinds == {Kind.NUMBER, Kind.MATRIX}:
            return "A number times the identity is written c I."
        return ""

    def _times(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self._value(left), self._value(right)
        both_columns = first.shape == second.shape and first.shape.kind is Kind.COLUMN
        if str(sign) == "·" and both_columns:
            first = t.Transpose(shape=first.shape.transposed(), span=first.span, operand=first)
        return self._product(first, second)

    def _juxtapose(self, left: Any, right: Any) -> t.Node:
        return self._product(self._value(left), self._value(right))

    def _product(self, first: t.Node, second: t.Node) -> t.Node:
        span = _join(first.span, second.span)
        found = _product_of(first.shape, second.shape)
        if found is None:
            raise self._error(
                *self._product_fault(first, second, span),
            )
        product, shape = found
        return t.Multiply(shape=shape, span=span, left=first, right=second, product=product)

    def _product_fault(
        self, first: t.Node, second: t.Node, span: t.Span
    ) -> tuple[str, t.Span, str, str]:
        left, right = self._written(first), self._written(second)
        kinds = (first.shape.kind, second.shape.kind)
        if kinds == (Kind.COLUMN, Kind.COLUMN):
            if first.shape == second.shape:
                hint = f"For the dot product write {left}^T {right}; for a matrix {left} {right}^T."
            else:
                hint = f"For a matrix write {left} {right}^T."
            message = f"{left} {right} multiplies two column vectors."
        elif first.shape.transposed().rows == second.shape.rows and _product_of(
            first.shape.transposed(), second.shape
        ):
            message = f"{first.shape.describe()} cannot multiply {second.shape.describe()}."
            hint = f"Perhaps {left}^T {right}?"
        elif _product_of(second.shape, first.shape):
            message = f"{first.shape.describe()} cannot multiply {second.shape.describe()}."
            hint = f"Perhaps the other way round: {right} {left}?"
        else:
            message = f"{first.shape.describe()} cannot multiply {second.shape.describe()}."
            hint = ""
        return (
            message[0].upper() + message[1:] if kinds[0] is not Kind.COLUMN else message,
            span,
            "formula.shape",
            hint,
        )

    def _divide(self, left: Any, sign: Token, right: Any) -> t.Node:
        return self._quotient(self._value(left), self._value(right))

    def _fraction(self, command: Token, left: Any, right: Any) -> t.Node:
        return self._quotient(self._value(left), self._value(right))

    def _quotient(self, first: t.Node, second: t.Node) -> t.Node:
        span = _join(first.span, second.span)
        if second.shape != NUMBER:
            raise self._error(
                f"One can divide by a number only, but {self._written(second)} is "
                f"{second.shape.describe()}.",
                second.span,
                "formula.shape",
            )
        return t.Divide(shape=first.shape, span=span, left=first, right=second)

    def _raise(self, base: Any, sign: Token, exponent: Any) -> t.Node:
        first, second = self._value(base), self._value(exponent)
        span = _join(first.span, second.span)
        if first.shape == NUMBER and second.shape == NUMBER:
            return t.Power(shape=NUMBER, span=span, base=first, exponent=second)
        whole = _whole(second)
        square = first.shape.kind is Kind.MATRIX and first.shape.rows == first.shape.columns
        if square and whole is not None and -1 <= whole <= 8:
            return t.MatrixPower(shape=first.shape, span=span, base=first, exponent=whole)
        hint = ""
        if first.shape.kind in (Kind.COLUMN, Kind.ROW):
            name = self._written(first)
            hint = f"For the squared length write {name}^T {name}; the transpose is {name}^T."
        raise self._error(
            f"{self._written(first)} is {first.shape.describe()} and cannot be raised to this.",
            span,
            "formula.shape",
            hint,
        )

    def _transpose(self, operand: Any, sign: Token) -> t.Node:
        node = self._value(operand)
        span = _join(node.span, _span(sign))
        return t.Transpose(shape=node.shape.transposed(), span=span, operand=node)

    def _bars(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        node = self._value(inner)
        name = "abs" if node.shape == NUMBER else "norm"
        return self._called(name, [node], _join(_span(opening), _span(closing)))

    def _angle(self, opening: Token, left: Any, comma: Token, right: Any, closing: Token) -> t.Node:
        span = _join(_span(opening), _span(closing))
        return self._called("dot", [self._value(left), self._value(right)], span)

    def _stack(self, opening: Token, arguments: Any, closing: Token) -> t.Node:
        items = [self._value(child) for child in arguments.children if isinstance(child, Tree)]
        span = _join(_span(opening), _span(closing))
        if len(items) == 1:
            return items[0]
        first = items[0].shape
        if any(item.shape != first for item in items) or first.kind is Kind.MATRIX:
            raise self._error(
                "A list takes numbers, or vectors of one length.", span, "formula.shape"
            )
        shape = column(len(items)) if first == NUMBER else matrix(len(items), first.size)
        return t.Stack(shape=shape, span=span, items=tuple(items))

    # Functions

    def _apply(self, name: Token, argument: Any) -> t.Node:
        node = self._value(argument)
        return self._called(str(name), [node], _join(_span(name), node.span))

    def _call(self, name: Token, opening: Token, arguments: Any, closing: Token) -> t.Node:
        span = _join(_span(name), _span(closing))
        function = self.scope.functions[str(name)]
        children = [child for child in arguments.children if isinstance(child, Tree)]
        if function.index:
            return self._unit_vector(children, span)
        nodes = [self.build(child) for child in children]
        if function.sizes:
            return self._sized(str(name), function, nodes, span)
        return self._called(str(name), nodes, span)

    def _called(self, name: str, nodes: list[t.Node], span: t.Span) -> t.Node:
        function = self.scope.functions[name]
        least, most = function.arguments
        if function.sizes or function.index or not least <= len(nodes) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self._error(
                f"{name} takes {wanted} argument{'s' * (most > 1)} in brackets; "
                f"it is given {len(nodes)}.",
                span,
                "formula.arguments",
            )
        shapes = tuple(node.shape for node in nodes)
        try:
            shape = function.shape(shapes)
        except ShapeRefused as refused:
            raise self._error(f"{name} {refused}.", span, "formula.shape") from None
        return t.Call(
            shape=shape,
            span=span,
            name=name,
            function=function,
            arguments=tuple(nodes),
            shapes=shapes,
        )

    def _sized(self, name: str, function: Function, nodes: list[t.Node], span: t.Span) -> t.Node:
        sizes = [_whole(node) for node in nodes]
        if not 1 <= len(sizes) <= function.arguments[1] or not all(
            size is not None and 1 <= size <= 1024 for size in sizes
        ):
            raise self._error(
                f"{name} takes sizes: whole numbers such as 3 or n.", span, "formula.arguments"
            )
        whole = tuple(size for size in sizes if size is not None)
        if name in ("identity", "eye"):
            return t.Identity(shape=matrix(whole[0], whole[0]), span=span)
        shape = column(whole[0]) if len(whole) == 1 else matrix(*whole)
        return t.SizedCall(shape=shape, span=span, name=name, function=function, sizes=whole)

    def _unit_vector(self, children: list[Any], span: t.Span) -> t.Node:
        label = str(children[0].children[0]) if children else ""
        if len(children) != 1 or label not in self.scope.indices:
            raise self._error("unit takes one index.", span, "formula.arguments")
        return t.UnitVector(shape=column(int(self.scope.constants["n"])), span=span, index=label)

    # Sums over an index

    def _series(self, sign: Token, body: Any) -> t.Node:
        header: Header = sign.value
        with self._binding(header.bound, _span(sign)):
            node = self._value(body)
        span = _join(_span(sign), node.span)
        families = [
            each.family
            for each in t.walk(node)
            if isinstance(each, t.Member) and each.label == header.bound
        ]
        counts = {family.count for family in families}
        first, last = self._range(header, counts, _span(sign))
        labels = (*header.excluded, *(header.included or ()))
        return t.Series(
            shape=node.shape,
            span=span,
            bound=header.bound,
            first=first,
            last=last,
            excluded=self._places(header.excluded, families, _span(sign)),
            included=(
                None
                if header.included is None
                else self._places(header.included, families, _span(sign))
            ),
            labels=labels,
            body=node,
        )

    def _times_series(self, left: Any, *rest: Any) -> t.Node:
        *_, sign, body = rest
        return self._product(self._value(left), self._series(sign, body))

    @contextmanager
    def _binding(self, name: str, span: t.Span) -> Iterator[None]:
        if name in self.bound:
            raise self._error(f"The index {name} is bound twice.", span, "formula.sum")
        self.bound[name] = 0
        try:
            yield
        finally:
            del self.bound[name]

    def _range(self, header: Header, counts: set[int], span: t.Span) -> tuple[int, int]:
        first = self._bound_value(header.first or "1", span)
        if not header.last and len(counts) != 1:
            raise self._error(
                f"Nothing in this sum tells how far {header.bound} goes.",
                span,
                "formula.sum",
                rf"Write \sum_{{{header.bound}=1}}^n.",
            )
        last = self._bound_value(header.last, span) if header.last else next(iter(counts))
        if not 1 <= first <= last <= min(counts, default=1024):
            raise self._error(
                f"This sum goes from {first} to {last}, which is not possible here.",
                span,
                "formula.sum",
            )
        return first - 1, last - 1

    def _bound_value(self, text: str, span: t.Span) -> int:
        name = text.strip("{} ")
        shape = self.scope.shapes.get(name)
        if shape is not None and shape.kind is Kind.MATRIX:
            # Papers call a basis S and the number of its vectors S, too.
            return shape.columns
        value = self.scope.constants.get(name, name)
        if isinstance(value, str) and not value.isdigit():
            raise self._error(f"{text[:20]!r} is no bound known here.", span, "formula.sum")
        return int(value)

    def _places(
        self, labels: tuple[str, ...], families: list[Family], span: t.Span
    ) -> tuple[int | str, ...]:
        if labels and not families:
            raise self._error(
                "Nothing in this sum has the index as its subscript.", span, "formula.sum"
            )
        for label in labels:
            if not label.isdigit() and label not in families[0].labels:
                raise self._error(f"{label} is no index here.", span, "formula.sum")
        return tuple(self._position(label, families[0], span) for label in labels)

    # Conditions, for authors only

    def _compare(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self._value(left), self._value(right)
        span = _join(first.span, second.span)
        if not self.scope.allows_conditions:
            raise self._error("Comparisons are not part of an answer.", span, "formula.syntax")
        if first.shape != NUMBER or second.shape != NUMBER:
            raise self._error("Only numbers can be compared.", span, "formula.shape")
        return t.Compare(shape=CONDITION, span=span, operator=str(sign), left=first, right=second)

    def _both(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.build(left), self.build(right)
        span = _join(first.span, second.span)
        if first.shape != CONDITION or second.shape != CONDITION:
            raise self._error("'and' joins two comparisons.", span, "formula.shape")
        return t.Both(shape=CONDITION, span=span, left=first, right=second)

    # Help

    def _value(self, parsed: Any) -> t.Node:
        node = self.build(parsed)
        if node.shape == CONDITION:
            raise self._error("A comparison is no value.", node.span, "formula.shape")
        return node

    def _written(self, node: t.Node) -> str:
        text = " ".join(self.text[node.span.start : node.span.end].split())
        return text if len(text) <= 30 else text[:27] + "…"

    def _error(self, message: str, span: t.Span, code: str, hint: str = "") -> FormulaError:
        return FormulaError(
            message, column=span.start + 1, length=span.end - span.start, hint=hint, code=code
        )


def _product_of(first: Shape, second: Shape) -> tuple[t.Product, Shape] | None:
    """Which product two shapes make, and its shape; None where they make none."""
    match first.kind, second.kind:
        case Kind.NUMBER, _:
            return t.Product.SCALE, second
        case _, Kind.NUMBER:
            return t.Product.SCALE, first
        case Kind.ROW, Kind.COLUMN if first.columns == second.rows:
            return t.Product.DOT, NUMBER
        case Kind.COLUMN, Kind.ROW:
            return t.Product.OUTER, matrix(first.rows, second.columns)
        case Kind.MATRIX, Kind.COLUMN if first.columns == second.rows:
            return t.Product.MATRIX_COLUMN, column(first.rows)
        case Kind.ROW, Kind.MATRIX if first.columns == second.rows:
            return t.Product.ROW_MATRIX, Shape(Kind.ROW, 1, second.columns)
        case Kind.MATRIX, Kind.MATRIX if first.columns == second.rows:
            return t.Product.MATRIX_MATRIX, matrix(first.rows, second.columns)
        case _:
            return None


def _whole(node: t.Node) -> int | None:
    """The whole number that a node is, where it is one beforehand."""
    match node:
        case t.Number(value=value) if value == int(value):
            return int(value)
        case t.Negate(operand=t.Number(value=value)) if value == int(value):
            return -int(value)
        case _:
            return None


def _span(token: Token) -> t.Span:
    return t.Span(token.start_pos or 0, token.end_pos or 0)


def _join(first: t.Span, second: t.Span) -> t.Span:
    return t.Span(min(first.start, second.start), max(first.end, second.end))
