"""Parse tree → typed tree: every operation is checked for exact shapes before it is computed.

`operators` knows which shapes each operation and function accepts; here are the rules of the
grammar and the sums over an index. A level of the parse tree takes two levels of Python's stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Tree

from grader.domain.shapes import CONDITION, NUMBER, OPEN_SQUARE, Kind, Shape
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.render import to_short_text
from grader.formula.syntax.clauses import DECIMAL_HINT
from grader.formula.syntax.names import SubscriptedName, make_index_error
from grader.formula.syntax.sum_header import SumHeader
from grader.formula.typed import operators
from grader.formula.typed import tree as t
from grader.formula.typed.open_sizes import MAX_SIZE, settle_size
from grader.formula.typed.scope import (
    IDENTITY,
    MATH_CONSTANTS,
    TRANSPOSE_LETTER,
    Family,
    FormulaScope,
)

# Rules of the grammar whose end is visible in the text.
_ENCLOSED = frozenset({"group", "stack", "bars", "angle", "call", "fraction"})


def build_typed_tree(
    parsed: Tree[Token], scope: FormulaScope, *, shape: Shape | None = None
) -> t.Node:
    """Turn a parse tree into a typed tree; `shape` is asked for, and settles an open size."""
    return settle_size(_Checker(scope).node(parsed), scope, shape)


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
        """The node of a value; refuses a condition."""
        rule: Callable[..., t.Node] = getattr(self, f"_{parsed.data}")
        node = rule(*parsed.children)
        if node.shape == CONDITION:
            raise make_error("A comparison cannot be used as a value.", node.start)
        return node

    # Leaves

    def _number(self, token: Token) -> t.Node:
        value = float(token)
        if not math.isfinite(value):
            raise make_error(
                f"The number {token[:20]} is too large.", _start(token), code="formula.limit"
            )
        return t.Number(shape=NUMBER, start=_start(token), value=value, text=str(token))

    def _name(self, token: Token) -> t.Node:
        name, start, scope = str(token), _start(token), self.scope
        if name in scope.shapes:
            return t.Name(shape=scope.shapes[name], start=start, name=name)
        if name in scope.constants:
            value = float(scope.constants[name])
            return t.Number(shape=NUMBER, start=start, value=value, text=name)
        if name in scope.families:
            example = next(iter(scope.families[name].labels), "1")
            raise make_error(
                f"{name} needs a subscript.",
                start,
                code="formula.subscript",
                hint=f"Write {name}_{example}.",
            )
        if name == IDENTITY:
            return t.Identity(shape=OPEN_SQUARE, start=start)
        if name in MATH_CONSTANTS and name not in scope.indices:
            return t.Number(shape=NUMBER, start=start, value=MATH_CONSTANTS[name], text=name)
        raise make_index_error(name, start=start)

    def _member(self, token: Token) -> t.Node:
        subscripted: SubscriptedName = token.value
        name, label, start = subscripted.name, subscripted.label, _start(token)
        family = self.scope.families.get(name)
        if family is None:
            return operators.build_identity(label, self.scope, start)
        return t.FamilyMember(
            shape=family.member_shape,
            start=start,
            name=name,
            label=label,
            family=family,
            position=_read_position(label, family, self.bound, start),
        )

    # Operations

    def _group(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        start = _start(opening)
        return replace(self.node(inner), start=start)

    def _same(self, sign: Token, operand: Any) -> t.Node:
        return self.value(operand)

    def _negate(self, sign: Token, operand: Any) -> t.Node:
        node = self.value(operand)
        return t.Negate(shape=node.shape, start=_start(sign), operand=node)

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
                f"It is unclear where the argument of {name} ends.",
                first.start,
                hint=f"Put the argument in brackets: {name}(…) {to_short_text(second)}.",
                code="formula.syntax",
            )
        return operators.build_product(first, second)

    def _divide(self, left: Any, sign: Token, right: Any) -> t.Node:
        return operators.build_quotient(self.value(left), self.value(right))

    def _fraction(self, command: Token, left: Any, right: Any) -> t.Node:
        node = operators.build_quotient(self.value(left), self.value(right))
        return replace(node, start=_start(command))

    def _raise(self, base: Any, sign: Token, exponent: Any) -> t.Node:
        return operators.build_power(self.value(base), self.value(exponent))

    def _transpose(self, operand: Any, sign: Token) -> t.Node:
        node = self.value(operand)
        if node.shape == NUMBER and self._is_number(TRANSPOSE_LETTER):
            raise make_error(
                "^T means the transpose, but this is a number.",
                _start(sign),
                hint="For a power write ^(T), or choose another letter for T.",
                code="formula.syntax",
            )
        return operators.build_transpose(node, node.start)

    def _is_number(self, name: str) -> bool:
        return name in self.scope.constants or self.scope.shapes.get(name) == NUMBER

    def _bars(self, opening: Token, inner: Any, closing: Token) -> t.Node:
        start = _start(opening)
        return operators.build_bars(
            self.value(inner),
            is_single=opening == "bars",
            which=str(closing),
            scope=self.scope,
            start=start,
        )

    def _angle(self, opening: Token, left: Any, comma: Token, right: Any, closing: Token) -> t.Node:
        start = _start(opening)
        function, nodes = self.scope.functions["dot"], [self.value(left), self.value(right)]
        return operators.build_call("dot", function, nodes, self.scope, start)

    def _stack(self, opening: Token, arguments: Any, closing: Token) -> t.Node:
        items = [self.value(child) for child in _trees(arguments)]
        return operators.build_stack(items, _start(opening))

    def _tuple(
        self, opening: Token, first: Any, comma: Token, arguments: Any, closing: Token
    ) -> t.Node:
        is_decimal = first.data == "number" and first.children[0].end_pos == comma.start_pos
        raise make_error(
            "',' is not expected here.",
            _start(comma),
            hint=DECIMAL_HINT if is_decimal else "Write a list in square brackets: [1, 2, 3].",
            code="formula.syntax",
        )

    # Functions

    def _apply(self, name: Token, argument: Any) -> t.Node:
        node = self.value(argument)
        start, function = _start(name), self.scope.functions[name]
        return operators.build_call(str(name), function, [node], self.scope, start)

    def _call(self, name: Token, opening: Token, arguments: Any, closing: Token) -> t.Node:
        start = _start(name)
        function = self.scope.functions[name]
        if function.index:
            return self._unit_vector(_trees(arguments), start)
        if name == "sum" and self.scope.sums_members:
            family = self.scope.find_family(_only_name(arguments))
            if family is not None:
                return operators.build_member_sum(family, self.scope, start)
        if function.sizes:
            nodes = [self.node(child) for child in _trees(_open_tuple(arguments))]
            return operators.build_sized_call(str(name), function, nodes, start)
        nodes = [self.node(child) for child in _trees(arguments)]
        if name == "dot" and any(node.shape.kind is Kind.MATRIX for node in nodes[:2]):
            return operators.build_matrix_dot(nodes, start)
        return operators.build_call(str(name), function, nodes, self.scope, start)

    def _unit_vector(self, arguments: list[Any], start: int) -> t.Node:
        match arguments:
            case [Tree(data="name", children=[index])]:
                return operators.build_unit_vector(str(index), None, self.scope, start)
            case [Tree(data="name", children=[index]), size]:
                length = self.value(size)
                return operators.build_unit_vector(str(index), length, self.scope, start)
            case _:
                return operators.build_unit_vector("", None, self.scope, start)

    # Sums over an index

    def _series(self, sign: Token, body: Any) -> t.Node:
        header, start = sign.value, _start(sign)
        if header.bound in self.bound:
            raise make_error(
                f"An outer sum already uses the index {header.bound}.", start, code="formula.sum"
            )
        self.bound.add(header.bound)
        node = self.value(body)
        self.bound.remove(header.bound)
        return _SeriesBuilder(header, start, self.scope, self.bound).build(node)

    def _times_series(self, left: Any, *rest: Any) -> t.Node:
        *_, sign, body = rest
        return operators.build_product(self.value(left), self._series(sign, body))

    def _divide_series(self, left: Any, division: Token, sign: Token, body: Any) -> t.Node:
        return operators.build_quotient(self.value(left), self._series(sign, body))

    # Conditions, for authors only

    def _compare(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.value(left), self.value(right)
        start = first.start
        if not self.scope.allows_conditions:
            raise make_error(
                "Comparisons are not allowed in an answer.", start, code="formula.syntax"
            )
        if first.shape != NUMBER or second.shape != NUMBER:
            raise make_error("Only numbers can be compared.", start)
        return t.Compare(shape=CONDITION, start=start, operator=str(sign), left=first, right=second)

    def _both(self, left: Any, sign: Token, right: Any) -> t.Node:
        first, second = self.node(left), self.node(right)
        start = first.start
        if first.shape != CONDITION or second.shape != CONDITION:
            raise make_error("'and' must stand between two comparisons.", start)
        return t.And(shape=CONDITION, start=start, left=first, right=second)


def _function_without_brackets(parsed: Any) -> str:
    """The function in the last factor of a product, if its argument has no brackets; else empty."""
    last = parsed.children[-1] if parsed.data in ("juxtapose", "times", "divide") else parsed
    if last.data != "apply":
        return ""
    name, argument = last.children
    # The end of a root sign is visible in the text.
    return "" if argument.data in _ENCLOSED or name == "sqrt" else str(name)


def _only_name(arguments: Any) -> str:
    """The only argument of a function if it is a name; else empty."""
    match _trees(arguments):
        case [Tree(data="name", children=[name])]:
            return str(name)
        case _:
            return ""


def _open_tuple(arguments: Any) -> Any:
    """The arguments, or those of the tuple that is the only one: `zeros((n, d))`."""
    match _trees(arguments):
        case [Tree(data="tuple", children=[_, first, _, Tree(children=others), _])]:
            return Tree("arguments", [first, *others])
        case _:
            return arguments


def _trees(arguments: Any) -> list[Any]:
    return [child for child in arguments.children if isinstance(child, Tree)]


def _start(token: Token) -> int:
    return token.start_pos or 0


# Sums over an index


def _read_position(label: str, family: Family, bound: Set[str], start: int) -> t.Position:
    """The position that a subscript names; `bound` are the indices of the sums around it."""
    if label in bound:
        return t.BoundIndex(label)
    if label in family.labels:
        return family.labels[label]
    if not label.isdecimal():
        raise make_error(
            f"The index {label} is used outside its sum.", start, code="formula.subscript"
        )
    if not family.numbered:
        raise make_error(
            f"The members here have no numbers, so there is no {label[:20]}.",
            start,
            code="formula.subscript",
        )
    if not 1 <= int(label) <= family.count:
        raise make_error(
            f"There is no member {label[:20]}; the members are numbered from 1 to {family.count}.",
            start,
            code="formula.subscript",
        )
    return int(label) - 1


@dataclass(frozen=True, slots=True)
class _SeriesBuilder:
    """Builds a sum over an index; `outer` are the indices of the sums around it."""

    header: SumHeader
    sign: int
    scope: FormulaScope
    outer: Set[str]

    def build(self, body: t.Node) -> t.Node:
        header = self.header
        families = [
            each.family
            for each in t.list_nodes(body)
            if isinstance(each, t.FamilyMember) and each.position == t.BoundIndex(header.bound)
        ]
        first, last = self._range({family.count for family in families})
        excluded = self._places(header.excluded, families)
        included = self._places(header.included or (), families)
        return t.Series(
            shape=body.shape,
            start=self.sign,
            bound=header.bound,
            first=first - 1,
            last=last - 1,
            excluded=excluded,
            included=None if header.included is None else included,
            labels=(*header.excluded, *(header.included or ())),
            body=body,
        )

    def _range(self, counts: set[int]) -> tuple[int, int]:
        header = self.header
        if not header.last and len(counts) != 1:
            raise self._error(
                f"The upper bound of {header.bound} is missing.",
                rf"Write \sum_{{{header.bound}=1}}^n.",
            )
        first = self._bound_value(header.first) if header.first else 1
        last = self._bound_value(header.last) if header.last else next(iter(counts))
        limit = min(counts, default=MAX_SIZE)
        if not 1 <= first <= last <= limit:
            raise self._error(
                f"This sum runs from {first} to {last}, but it must stay between 1 and {limit}."
            )
        return first, last

    def _bound_value(self, text: str) -> int:
        name = text.strip("{} ")
        shape = self.scope.shapes.get(name)
        if shape is not None and shape.kind is Kind.MATRIX:
            # Papers use S for a basis and also for the number of its vectors.
            return shape.columns
        value = self.scope.constants.get(name)
        if name.isascii() and name.isdigit() and len(name) < 10:
            value = float(name)
        if value is None or value != int(value):
            raise self._error(
                f"{text[:20]!r} cannot be a bound.", "Write a whole number, or a name such as n."
            )
        return int(value)

    def _places(self, labels: tuple[str, ...], families: list[Family]) -> tuple[t.Position, ...]:
        if labels and not families:
            raise self._error(f"No subscript in this sum is {self.header.bound}.")
        return tuple(self._place(label, families) for label in labels)

    def _place(self, label: str, families: list[Family]) -> t.Position:
        for family in families:
            if not (label.isdecimal() or label in self.outer or label in family.labels):
                raise self._not_a_place(label, family)
        places = {_read_position(label, family, self.outer, self.sign) for family in families}
        if len(places) > 1:
            raise self._error(
                f"{label[:20]} does not mean the same position for all members of this sum."
            )
        return places.pop()

    def _not_a_place(self, label: str, family: Family) -> FormulaError:
        size = self.scope.indices.get(label, family.count)
        if size == family.count:
            return self._error(f"{label[:20]} is not an index here.")
        return self._error(
            f"{label} is not an index here: it is one of {size}, but this sum is over "
            f"{family.count}."
        )

    def _error(self, message: str, hint: str = "") -> FormulaError:
        return make_error(message, self.sign, code="formula.sum", hint=hint)
