"""Typed tree → plain text, with as few brackets as the grammar allows and a reader likes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from grader.formula.typed import tree as t


class Precedence(IntEnum):
    """How tightly a text holds together; what is looser than its place needs brackets."""

    CONDITION = 0
    COMPARISON = 1
    SUM = 2
    NEGATIVE = 3
    SERIES = 4
    PRODUCT = 5
    POWER = 6
    ATOM = 7


Rendered = tuple[str, Precedence]


class PlainWriter:
    """Writes plain text; every method gives a text and how tightly it holds together."""

    def at(self, node: t.Node, least: Precedence) -> str:
        """A node's text, in brackets where it is looser than `least`."""
        way = getattr(self, _HANDLERS[type(node)])
        text, level = way(node)
        return text if level >= least else self._bracketed(text)

    def _bracketed(self, text: str) -> str:
        return f"({text})"

    # Leaves

    def _number(self, node: t.Number) -> Rendered:
        return node.text, Precedence.ATOM

    def _name(self, node: t.Name) -> Rendered:
        return node.name, Precedence.ATOM

    def _identity(self, node: t.Identity) -> Rendered:
        return f"I_{node.shape.rows}", Precedence.ATOM

    def _member(self, node: t.FamilyMember) -> Rendered:
        return f"{node.name}_{node.label}", Precedence.ATOM

    def _unit_vector(self, node: t.UnitVector) -> Rendered:
        return self._called("unit", node.index), Precedence.ATOM

    # Operations

    def _negate(self, node: t.Negate) -> Rendered:
        return f"-{self.at(node.operand, Precedence.SERIES)}", Precedence.NEGATIVE

    def _add(self, node: t.Add) -> Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SERIES)
        return f"{left} {'+' if node.sign == 1 else '-'} {right}", Precedence.SUM

    def _multiply(self, node: t.Multiply) -> Rendered:
        left = self.at(node.left, self._left_of_product(node.left))
        if isinstance(node.right, t.Series):
            # A sum takes all that follows, so that it needs no brackets at the end.
            return f"{left} {self.at(node.right, Precedence.SERIES)}", Precedence.SERIES
        right = self.at(node.right, Precedence.POWER)
        sign = self._times() if right[0].isdigit() or right[0] == "." else " "
        return f"{left}{sign}{right}", Precedence.PRODUCT

    def _left_of_product(self, node: t.Node) -> Precedence:
        # `1 / 2 n` would be right without brackets, too, but many would read it otherwise.
        return Precedence.POWER if isinstance(node, t.Divide) else Precedence.PRODUCT

    def _times(self) -> str:
        return " * "

    def _divide(self, node: t.Divide) -> Rendered:
        left, right = self.at(node.left, Precedence.PRODUCT), self.at(node.right, Precedence.POWER)
        return f"{left} / {right}", Precedence.PRODUCT

    def _power(self, node: t.Power) -> Rendered:
        base, exponent = (
            self.at(node.base, Precedence.ATOM),
            self.at(node.exponent, Precedence.CONDITION),
        )
        is_short = isinstance(node.exponent, t.Number | t.Name)
        return base + self._superscript(exponent, is_short=is_short), Precedence.POWER

    def _matrix_power(self, node: t.MatrixPower) -> Rendered:
        exponent = self._superscript(str(node.exponent), is_short=node.exponent >= 0)
        return self.at(node.base, Precedence.ATOM) + exponent, Precedence.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        # `^T` is the transpose, also where T is a name.
        return f"^{text}" if is_short and not text.startswith("T") else f"^({text})"

    def _transpose(self, node: t.Transpose) -> Rendered:
        return f"{self.at(node.operand, Precedence.ATOM)}^T", Precedence.POWER

    def _stack(self, node: t.Stack) -> Rendered:
        return f"[{self._listed(node.items)}]", Precedence.ATOM

    def _series(self, node: t.Series) -> Rendered:
        head = f"{node.bound}={node.first + 1}"
        labels = ", ".join(node.labels)
        if node.excluded:
            head += f", {node.bound} != {labels}"
        elif node.included is not None:
            head += f", {node.bound} in {{{labels}}}"
        body = self.at(node.body, Precedence.SERIES)
        return f"sum_{{{head}}}^{{{node.last + 1}}} {body}", Precedence.SERIES

    # Functions and conditions

    def _call(self, node: t.FunctionCall) -> Rendered:
        return self._called(node.name, self._listed(node.arguments)), Precedence.ATOM

    def _sized_call(self, node: t.SizedCall) -> Rendered:
        return self._called(node.name, ", ".join(map(str, node.sizes))), Precedence.ATOM

    def _called(self, name: str, arguments: str) -> str:
        return f"{name}({arguments})"

    def _listed(self, nodes: Iterable[t.Node]) -> str:
        return ", ".join(self.at(node, Precedence.CONDITION) for node in nodes)

    def _compare(self, node: t.Compare) -> Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SUM)
        return f"{left} {self._comparison(node.operator)} {right}", Precedence.COMPARISON

    def _comparison(self, operator: str) -> str:
        return operator

    def _both(self, node: t.And) -> Rendered:
        left = self.at(node.left, Precedence.CONDITION)
        return f"{left} and {self.at(node.right, Precedence.COMPARISON)}", Precedence.CONDITION


#: The method that writes each kind of node.
_HANDLERS: dict[type[t.Node], str] = {
    t.Name: "_name",
    t.Number: "_number",
    t.Identity: "_identity",
    t.FamilyMember: "_member",
    t.UnitVector: "_unit_vector",
    t.Negate: "_negate",
    t.Transpose: "_transpose",
    t.Add: "_add",
    t.Multiply: "_multiply",
    t.Divide: "_divide",
    t.Power: "_power",
    t.MatrixPower: "_matrix_power",
    t.Stack: "_stack",
    t.Series: "_series",
    t.FunctionCall: "_call",
    t.SizedCall: "_sized_call",
    t.Compare: "_compare",
    t.And: "_both",
}
