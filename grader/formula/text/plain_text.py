"""Typed tree → plain text, with as few brackets as the grammar allows and a reader likes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from grader.formula.typed import tree as t


class Level(IntEnum):
    """How tightly a text holds together; what is looser than its place needs brackets."""

    CONDITION = 0
    COMPARISON = 1
    SUM = 2
    NEGATIVE = 3
    SERIES = 4
    PRODUCT = 5
    POWER = 6
    ATOM = 7


Shown = tuple[str, Level]


class PlainWriter:
    """Writes plain text; every method gives a text and how tightly it holds together."""

    def at(self, node: t.Node, least: Level) -> str:
        """A node's text, in brackets where it is looser than `least`."""
        way = getattr(self, _WAYS[type(node)])
        text, level = way(node)
        return text if level >= least else self._bracketed(text)

    def _bracketed(self, text: str) -> str:
        return f"({text})"

    # Leaves

    def _number(self, node: t.Number) -> Shown:
        return node.text, Level.ATOM

    def _name(self, node: t.Name) -> Shown:
        return node.name, Level.ATOM

    def _identity(self, node: t.Identity) -> Shown:
        return f"I_{node.shape.rows}", Level.ATOM

    def _member(self, node: t.Member) -> Shown:
        return f"{node.name}_{node.label}", Level.ATOM

    def _unit_vector(self, node: t.UnitVector) -> Shown:
        return self._called("unit", node.index), Level.ATOM

    # Operations

    def _negate(self, node: t.Negate) -> Shown:
        return f"-{self.at(node.operand, Level.SERIES)}", Level.NEGATIVE

    def _add(self, node: t.Add) -> Shown:
        left, right = self.at(node.left, Level.SUM), self.at(node.right, Level.SERIES)
        return f"{left} {'+' if node.sign == 1 else '-'} {right}", Level.SUM

    def _multiply(self, node: t.Multiply) -> Shown:
        left = self.at(node.left, self._left_of_product(node.left))
        if isinstance(node.right, t.Series):
            # A sum takes all that follows, so that it needs no brackets at the end.
            return f"{left} {self.at(node.right, Level.SERIES)}", Level.SERIES
        right = self.at(node.right, Level.POWER)
        sign = self._times() if right[0].isdigit() or right[0] == "." else " "
        return f"{left}{sign}{right}", Level.PRODUCT

    def _left_of_product(self, node: t.Node) -> Level:
        # `1 / 2 n` would be right without brackets, too, but many would read it otherwise.
        return Level.POWER if isinstance(node, t.Divide) else Level.PRODUCT

    def _times(self) -> str:
        return " * "

    def _divide(self, node: t.Divide) -> Shown:
        left, right = self.at(node.left, Level.PRODUCT), self.at(node.right, Level.POWER)
        return f"{left} / {right}", Level.PRODUCT

    def _power(self, node: t.Power) -> Shown:
        base, exponent = self.at(node.base, Level.ATOM), self.at(node.exponent, Level.CONDITION)
        is_short = isinstance(node.exponent, t.Number | t.Name)
        return base + self._superscript(exponent, is_short=is_short), Level.POWER

    def _matrix_power(self, node: t.MatrixPower) -> Shown:
        exponent = self._superscript(str(node.exponent), is_short=node.exponent >= 0)
        return self.at(node.base, Level.ATOM) + exponent, Level.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        # `^T` is the transpose, also where T is a name.
        return f"^{text}" if is_short and not text.startswith("T") else f"^({text})"

    def _transpose(self, node: t.Transpose) -> Shown:
        return f"{self.at(node.operand, Level.ATOM)}^T", Level.POWER

    def _stack(self, node: t.Stack) -> Shown:
        return f"[{self._listed(node.items)}]", Level.ATOM

    def _series(self, node: t.Series) -> Shown:
        head = f"{node.bound}={node.first + 1}"
        labels = ", ".join(node.labels)
        if node.excluded:
            head += f", {node.bound} != {labels}"
        elif node.included is not None:
            head += f", {node.bound} in {{{labels}}}"
        body = self.at(node.body, Level.SERIES)
        return f"sum_{{{head}}}^{{{node.last + 1}}} {body}", Level.SERIES

    # Functions and conditions

    def _call(self, node: t.Call) -> Shown:
        return self._called(node.name, self._listed(node.arguments)), Level.ATOM

    def _sized_call(self, node: t.SizedCall) -> Shown:
        return self._called(node.name, ", ".join(map(str, node.sizes))), Level.ATOM

    def _called(self, name: str, arguments: str) -> str:
        return f"{name}({arguments})"

    def _listed(self, nodes: Iterable[t.Node]) -> str:
        return ", ".join(self.at(node, Level.CONDITION) for node in nodes)

    def _compare(self, node: t.Compare) -> Shown:
        left, right = self.at(node.left, Level.SUM), self.at(node.right, Level.SUM)
        return f"{left} {self._comparison(node.operator)} {right}", Level.COMPARISON

    def _comparison(self, operator: str) -> str:
        return operator

    def _both(self, node: t.Both) -> Shown:
        left = self.at(node.left, Level.CONDITION)
        return f"{left} and {self.at(node.right, Level.COMPARISON)}", Level.CONDITION


#: The method that writes each kind of node.
_WAYS: dict[type[t.Node], str] = {
    t.Name: "_name",
    t.Number: "_number",
    t.Identity: "_identity",
    t.Member: "_member",
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
    t.Call: "_call",
    t.SizedCall: "_sized_call",
    t.Compare: "_compare",
    t.Both: "_both",
}
