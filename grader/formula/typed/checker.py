"""Parse tree → typed tree: every operation is checked for exact shapes beforehand.

What the operations demand is said in `combine`, `calls` and `sums`; here is how the rules of the
grammar come to them. A level of the parse tree takes two levels of Python's stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lark import Token, Tree

from grader.domain.shapes import CONDITION, NUMBER
from grader.formula.errors import make_error
from grader.formula.syntax.names import SubscriptedName
from grader.formula.text.render import to_short_text
from grader.formula.typed import calls, operators
from grader.formula.typed import tree as t
from grader.formula.typed.scope import IDENTITY, MATH_CONSTANTS, FormulaScope
from grader.formula.typed.sums import build_series, read_position

_TRANSPOSE_LETTER = "T"
# Rules of the grammar that show by themselves where they end.
_ENCLOSED = frozenset({"group", "stack", "bars", "angle", "call", "fraction"})


def build_typed_tree(parsed: Tree[Token], scope: FormulaScope) -> t.Node:
    """Turn a parse tree into a typed tree."""
    return _Checker(scope).node(parsed)


class _Checker:
    """Builds typed nodes, one method for each rule of the grammar."""

    def __init__(self, scope: FormulaScope) -> None:
        self.scope = scope
        self.bound: set[str] = set()

    def node(self, parsed: Any) -> t.Node:
        """The node of a value or of a condition."""
        rule: Callable[..., t.Node] = getattr(self, f"_{parsed.data}")
        return rule(*parsed.children)

    def value(self, parsed: Any) -> t.Node:
        """The node of a value; a condition is refused."""
        rule: Callable[..., t.Node] = getattr(self, f"_{parsed.data}")
        node = rule(*parsed.children)
        if node.shape == CONDITION:
            raise make_error("A comparison is no value.", node.span)
        return node

    # Leaves

    def _number(self, token: Token) -> t.Node:
        value = float(token)
        if not math.isfinite(value):
            raise make_error(
                f"{token[:20]} is too large a number.", _span(token), code="formula.limit"
            )
        return t.Number(shape=NUMBER, span=_span(token), value=value, text=str(token))

    def _name(self, token: Token) -> t.Node:
        name, span, scope = str(token), _span(token), self.scope
        if name in scope.shapes:
            return t.Name(shape=scope.shapes[name], span=span, name=name)
        if name in scope.constants:
            value = float(scope.constants[name])
            return t.Number(shape=NUMBER, span=span, value=value, text=name)
        if name in scope.families:
            example = next(iter(scope.families[name].labels), "1")
            raise make_error(
                f"{name} needs a subscript.",
                span,
                code="formula.subscript",
                hint=f"Write {name}_{example}.",
            )
        if name == IDENTITY:
            return calls.build_identity("d", scope, span)
        if name in MATH_CONSTANTS and name not in scope.indices:
            return t.Number(shape=NUMBER, span=span, value=MATH_CONSTANTS[name], text=name)
        raise make_error(
            f"{name} is an index.",
            span,
            code="formula.subscript",
            hint="It stands in subscripts only.",
        )

    def _member(self, token: Token) -> t.Node:
        subscripted: SubscriptedName = token.value
        name, label, span = subscripted.name, subscripted.label, _span(token)
        family = self.scope.families.get(name)
        if family is None:
            return calls.build_identity(label, self.scope, span)
        return t.FamilyMember(
            shape=family.member_shape,
            span=span,
            name=name,
            label=label,
            family=family,
            position=read_position(label, family, self.bound, span),
        )

    # Operations

    def _group(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        span = t.join_spans(_span(opening), _span(closing))
        return replace(self.node(inner), span=span)

    def _same(self, sign: Token, operand: Any) -> t.Node:
        return self.value(operand)

    def _negate(self, sign: Token, operand: Any) -> t.Node:
        node = self.value(operand)
        return operators.build_negation(node, t.join_spans(_span(sign), node.span))

    def _add(self, left: Any, sign: Token, right: Any) -> t.Node:
        return operators.build_sum(self.value(left), self.value(right), sign=1)

    def _subtract(self, left: Any, sign: Token, right: Any) -> t.Node:
        return operators.build_sum(self.value(left), self.value(right), sign=-1)

    def _times(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.value(left), self.value(right)
        match str(sign):
            case "·":
                return operators.build_dot_or_product(first, second)
            case "⊗":
                return operators.build_tensor_product(first, second)
            case _:
                return operators.build_product(first, second)

    def _juxtapose(self, left: Any, right: Any) -> t.Node:
        first, second = self.value(left), self.value(right)
        if second.shape == NUMBER and (name := _function_without_brackets(left)):
            raise make_error(
                f"It cannot be told where {name} ends.",
                t.join_spans(first.span, second.span),
                hint=f"Put what belongs to it in brackets: {name}(…) {to_short_text(second)}.",
                code="formula.syntax",
            )
        return operators.build_product(first, second)

    def _divide(self, left: Any, sign: Token, right: Any) -> t.Node:
        return operators.build_quotient(self.value(left), self.value(right))

    def _fraction(self, command: Token, left: Any, right: Any) -> t.Node:
        node = operators.build_quotient(self.value(left), self.value(right))
        return replace(node, span=t.join_spans(_span(command), node.span))

    def _raise(self, base: Any, sign: Token, exponent: Any) -> t.Node:
        return operators.build_power(self.value(base), self.value(exponent))

    def _transpose(self, operand: Any, sign: Token) -> t.Node:
        node = self.value(operand)
        if node.shape == NUMBER and self._is_number(_TRANSPOSE_LETTER):
            raise make_error(
                "^T is the transpose, which says nothing of a number.",
                _span(sign),
                hint="For a power write ^(T), or choose another letter.",
                code="formula.syntax",
            )
        return operators.build_transpose(node, t.join_spans(node.span, _span(sign)))

    def _is_number(self, name: str) -> bool:
        return name in self.scope.constants or self.scope.shapes.get(name) == NUMBER

    def _bars(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        span = t.join_spans(_span(opening), _span(closing))
        return calls.build_bars(
            self.value(inner),
            is_single=opening == "bars",
            which=str(closing),
            scope=self.scope,
            span=span,
        )

    def _angle(self, opening: Token, left: Any, comma: Token, right: Any, closing: Token) -> t.Node:
        span = t.join_spans(_span(opening), _span(closing))
        function = self.scope.functions["dot"]
        return calls.build_call("dot", function, [self.value(left), self.value(right)], span)

    def _stack(self, opening: Token, arguments: Any, closing: Token) -> t.Node:
        items = [self.value(child) for child in _trees(arguments)]
        return operators.build_stack(items, t.join_spans(_span(opening), _span(closing)))

    # Functions

    def _apply(self, name: Token, argument: Any) -> t.Node:
        node = self.value(argument)
        span = t.join_spans(_span(name), node.span)
        return calls.build_call(str(name), self.scope.functions[name], [node], span)

    def _call(self, name: Token, opening: Token, arguments: Any, closing: Token) -> t.Node:
        span = t.join_spans(_span(name), _span(closing))
        function = self.scope.functions[name]
        if function.index:
            return calls.build_unit_vector(_only_name(arguments), self.scope, span)
        nodes = [self.node(child) for child in _trees(arguments)]
        if function.sizes:
            return calls.build_sized_call(str(name), function, nodes, span)
        return calls.build_call(str(name), function, nodes, span)

    # Sums over an index

    def _series(self, sign: Token, body: Any) -> t.Node:
        header, span = sign.value, _span(sign)
        with self._binding(header.bound, span):
            node = self.value(body)
        return build_series(header, span, node, scope=self.scope, outer=self.bound)

    def _times_series(self, left: Any, *rest: Any) -> t.Node:
        *_, sign, body = rest
        return operators.build_product(self.value(left), self._series(sign, body))

    def _divide_series(self, left: Any, division: Token, sign: Token, body: Any) -> t.Node:
        return operators.build_quotient(self.value(left), self._series(sign, body))

    @contextmanager
    def _binding(self, name: str, span: t.Span) -> Iterator[None]:
        if name in self.bound:
            raise make_error(f"The index {name} is bound twice.", span, code="formula.sum")
        self.bound.add(name)
        try:
            yield
        finally:
            self.bound.remove(name)

    # Conditions, for authors only

    def _compare(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.value(left), self.value(right)
        span = t.join_spans(first.span, second.span)
        if not self.scope.allows_conditions:
            raise make_error("Comparisons are not part of an answer.", span, code="formula.syntax")
        if first.shape != NUMBER or second.shape != NUMBER:
            raise make_error("Only numbers can be compared.", span)
        return t.Compare(shape=CONDITION, span=span, operator=str(sign), left=first, right=second)

    def _both(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.node(left), self.node(right)
        span = t.join_spans(first.span, second.span)
        if first.shape != CONDITION or second.shape != CONDITION:
            raise make_error("'and' joins two comparisons.", span)
        return t.And(shape=CONDITION, span=span, left=first, right=second)


def _function_without_brackets(parsed: Any) -> str:
    """The function that the last factor of a product is, where its argument has no brackets."""
    last = parsed.children[-1] if parsed.data in ("juxtapose", "times", "divide") else parsed
    if last.data != "apply":
        return ""
    name, argument = last.children
    # A root sign shows by itself how far it goes.
    return "" if argument.data in _ENCLOSED or name == "sqrt" else str(name)


def _only_name(arguments: Any) -> str:
    """The name that is the only argument of a function; empty where it is anything else."""
    match _trees(arguments):
        case [Tree(data="name", children=[name])]:
            return str(name)
        case _:
            return ""


def _trees(arguments: Any) -> list[Any]:
    return [child for child in arguments.children if isinstance(child, Tree)]


def _span(token: Token) -> t.Span:
    return t.Span(token.start_pos or 0, token.end_pos or 0)
