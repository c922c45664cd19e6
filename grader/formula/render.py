"""Typed tree → plain text or LaTeX: how a formula was read, with few brackets.

Both can be read again. Plain text gives the same tree; LaTeX gives the same value, because it has
no `1e6` and writes a power of ten instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache

from grader.domain.shapes import OPEN_SQUARE, Kind
from grader.formula.syntax.notation import COMMAND_NAMES
from grader.formula.typed import tree as t

_MAX_LENGTH = 40
_SCIENTIFIC = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+")
_SAFE_EXPONENT = 290
_WITH_LABEL = re.compile(r"([A-Za-z0-9]+)_([A-Za-z0-9]+)")
_COMMANDS = frozenset({"exp", "log", "ln", "min", "max", "tanh"})


class Precedence(IntEnum):
    """How tightly a text binds; it needs brackets where its place asks for more."""

    CONDITION = 0
    COMPARISON = 1
    SUM = 2
    NEGATIVE = 3
    SERIES = 4
    PRODUCT = 5
    POWER = 6
    ATOM = 7


def to_text(node: t.Node) -> str:
    """A tree in plain text: `40 (mu_a + mu_b)`."""
    return _PlainWriter().at(node, Precedence.CONDITION)


def to_latex(node: t.Node) -> str:
    r"""A tree in LaTeX: `40 \left(\mu_{a} + \mu_{b}\right)`."""
    return _LatexWriter().at(node, Precedence.CONDITION)


def format_own_names_as_text(
    constants: Mapping[str, float], large: Iterable[str], definitions: Mapping[str, t.Node]
) -> str:
    """The writer's own names in plain text: `r = 50, C >> 0, D = 2 C`; empty without any."""
    return ", ".join(
        [
            *(f"{name} = {_number_text(value)}" for name, value in constants.items()),
            *(f"{name} >> 0" for name in large),
            *(f"{name} = {to_text(node)}" for name, node in definitions.items()),
        ]
    )


def format_own_names_as_latex(
    constants: Mapping[str, float], large: Iterable[str], definitions: Mapping[str, t.Node]
) -> str:
    r"""The writer's own names in LaTeX: `r = 50, C \gg 0, D = 2 C`; empty without any."""
    numbers = {
        name: _format_latex_number(_number_text(value))[0] for name, value in constants.items()
    }
    values = {name: to_latex(node) for name, node in definitions.items()}
    return ", ".join(
        [
            *(f"{_format_latex_name(name)} = {text}" for name, text in numbers.items()),
            *(rf"{_format_latex_name(name)} \gg 0" for name in large),
            *(f"{_format_latex_name(name)} = {text}" for name, text in values.items()),
        ]
    )


def to_short_text(node: t.Node, least: Precedence = Precedence.CONDITION) -> str:
    """A tree in plain text for a message: shortened, and bracketed where `least` demands it."""
    text = _PlainWriter().at(node, least)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")


_Rendered = tuple[str, Precedence]


@cache
def _get_method_name(kind: str) -> str:
    """The writer's method for a node type: `_matrix_power` for `MatrixPower`."""
    return re.sub(r"(?=[A-Z])", "_", kind).lower()


class _PlainWriter:
    """Writes plain text; each node type has a method that gives a text and its precedence."""

    _times = " * "
    _sum = "sum"
    _excluded = ", {} != {}"
    _included = ", {} in {{{}}}"
    _conjunction = " and "
    _comparisons: Mapping[str, str] = {}

    def at(self, node: t.Node, least: Precedence) -> str:
        """A node's text, in brackets where it binds less tightly than `least`."""
        text, precedence = getattr(self, _get_method_name(type(node).__name__))(node)
        return text if precedence >= least else self._bracketed(text)

    def _bracketed(self, text: str) -> str:
        return f"({text})"

    # Leaves

    def _number(self, node: t.Number) -> _Rendered:
        return node.text, Precedence.ATOM

    def _name(self, node: t.Name) -> _Rendered:
        return node.name, Precedence.ATOM

    def _identity(self, node: t.Identity) -> _Rendered:
        is_open = node.shape == OPEN_SQUARE
        return "I" if is_open else f"I_{node.shape.rows}", Precedence.ATOM

    def _family_member(self, node: t.FamilyMember) -> _Rendered:
        return f"{node.name}_{node.label}", Precedence.ATOM

    def _unit_vector(self, node: t.UnitVector) -> _Rendered:
        return self._called("unit", node.index), Precedence.ATOM

    # Operations

    def _negate(self, node: t.Negate) -> _Rendered:
        return f"-{self.at(node.operand, Precedence.SERIES)}", Precedence.NEGATIVE

    def _add(self, node: t.Add) -> _Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SERIES)
        return f"{left} {'+' if node.sign == 1 else '-'} {right}", Precedence.SUM

    def _multiply(self, node: t.Multiply) -> _Rendered:
        left = self.at(node.left, self._left_of_product(node.left))
        if isinstance(node.right, t.Series):
            # A sum extends to the end of the product, so that it needs no brackets there.
            return f"{left} {self.at(node.right, Precedence.SERIES)}", Precedence.SERIES
        right = self.at(node.right, Precedence.POWER)
        sign = self._times if right[0].isdigit() or right[0] == "." else " "
        return f"{left}{sign}{right}", Precedence.PRODUCT

    def _left_of_product(self, node: t.Node) -> Precedence:
        # `1 / 2 n` would be correct without brackets, but many people would misread it.
        return Precedence.POWER if isinstance(node, t.Divide) else Precedence.PRODUCT

    def _divide(self, node: t.Divide) -> _Rendered:
        left, right = self.at(node.left, Precedence.PRODUCT), self.at(node.right, Precedence.POWER)
        return f"{left} / {right}", Precedence.PRODUCT

    def _power(self, node: t.Power) -> _Rendered:
        base = self.at(node.base, Precedence.ATOM)
        exponent = self.at(node.exponent, Precedence.CONDITION)
        is_short = isinstance(node.exponent, t.Number | t.Name)
        return base + self._superscript(exponent, is_short=is_short), Precedence.POWER

    def _matrix_power(self, node: t.MatrixPower) -> _Rendered:
        exponent = self._superscript(str(node.exponent), is_short=node.exponent >= 0)
        return self.at(node.base, Precedence.ATOM) + exponent, Precedence.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        # `^T` is the transpose, also where T is a name.
        return f"^{text}" if is_short and not text.startswith("T") else f"^({text})"

    def _transpose(self, node: t.Transpose) -> _Rendered:
        return f"{self.at(node.operand, Precedence.ATOM)}^T", Precedence.POWER

    def _stack(self, node: t.Stack) -> _Rendered:
        return f"[{self._listed(node.items)}]", Precedence.ATOM

    def _series(self, node: t.Series) -> _Rendered:
        head = f"{node.bound}={node.first + 1}"
        labels = ", ".join(node.labels)
        if node.excluded:
            head += self._excluded.format(node.bound, labels)
        elif node.included is not None:
            head += self._included.format(node.bound, labels)
        body = self.at(node.body, Precedence.SERIES)
        return f"{self._sum}_{{{head}}}^{{{node.last + 1}}} {body}", Precedence.SERIES

    # Functions and conditions

    def _function_call(self, node: t.FunctionCall) -> _Rendered:
        return self._called(node.name, self._listed(node.arguments)), Precedence.ATOM

    def _sized_call(self, node: t.SizedCall) -> _Rendered:
        return self._called(node.name, ", ".join(map(str, node.sizes))), Precedence.ATOM

    def _called(self, name: str, arguments: str) -> str:
        return f"{name}({arguments})"

    def _listed(self, nodes: Iterable[t.Node]) -> str:
        return ", ".join(self.at(node, Precedence.CONDITION) for node in nodes)

    def _compare(self, node: t.Compare) -> _Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SUM)
        operator = self._comparisons.get(node.operator, node.operator)
        return f"{left} {operator} {right}", Precedence.COMPARISON

    def _and(self, node: t.And) -> _Rendered:
        left = self.at(node.left, Precedence.CONDITION)
        right = self.at(node.right, Precedence.COMPARISON)
        return f"{left}{self._conjunction}{right}", Precedence.CONDITION


class _LatexWriter(_PlainWriter):
    """Writes LaTeX."""

    _times = r" \cdot "
    _sum = r"\sum"
    _excluded = r",\, {} \neq {}"
    _included = r",\, {} \in \{{{}\}}"
    _conjunction = r" \text{ and } "
    _comparisons: Mapping[str, str] = {"<=": r"\leq", ">=": r"\geq"}

    def _bracketed(self, text: str) -> str:
        return rf"\left({text}\right)"

    def _number(self, node: t.Number) -> _Rendered:
        if node.text[0].isalpha():
            return _format_latex_name(node.text), Precedence.ATOM
        return _format_latex_number(node.text)

    def _name(self, node: t.Name) -> _Rendered:
        return _format_latex_name(node.name), Precedence.ATOM

    def _identity(self, node: t.Identity) -> _Rendered:
        return f"I_{{{node.shape.rows}}}", Precedence.ATOM

    def _family_member(self, node: t.FamilyMember) -> _Rendered:
        return f"{_format_latex_name(node.name)}_{{{node.label}}}", Precedence.ATOM

    def _left_of_product(self, node: t.Node) -> Precedence:
        return Precedence.PRODUCT

    def _divide(self, node: t.Divide) -> _Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SUM)
        return rf"\frac{{{left}}}{{{right}}}", Precedence.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        return f"^{{{text}}}" if text != "T" else "^{(T)}"

    def _transpose(self, node: t.Transpose) -> _Rendered:
        return rf"{self.at(node.operand, Precedence.ATOM)}^{{\top}}", Precedence.POWER

    def _function_call(self, node: t.FunctionCall) -> _Rendered:
        listed = self._listed(node.arguments)
        match node.name, node.shapes[0].kind:
            case "sqrt", _:
                return rf"\sqrt{{{listed}}}", Precedence.ATOM
            case "norm", Kind.COLUMN | Kind.ROW:
                return rf"\lVert {listed} \rVert", Precedence.ATOM
            case "abs", Kind.NUMBER:
                return rf"\lvert {listed} \rvert", Precedence.ATOM
            case "dot", _:
                return rf"\langle {listed} \rangle", Precedence.ATOM
            case _:
                return self._called(node.name, listed), Precedence.ATOM

    def _called(self, name: str, arguments: str) -> str:
        escaped = name.replace("_", r"\_")
        command = f"\\{name}" if name in _COMMANDS else rf"\operatorname{{{escaped}}}"
        return command + self._bracketed(arguments)


def _format_latex_number(text: str) -> _Rendered:
    """A number as it was written, with a power of ten for an exponent."""
    if not _SCIENTIFIC.fullmatch(text):
        return text, Precedence.ATOM
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent)) > _SAFE_EXPONENT:
        # Normalized, because in 0.1e309 the power of ten alone would overflow.
        mantissa, _, exponent = repr(float(text)).partition("e")
    power = f"10^{{{int(exponent or 0)}}}"
    if float(mantissa) == 1:
        return power, Precedence.POWER
    return rf"{mantissa} \cdot {power}", Precedence.PRODUCT


def _format_latex_name(name: str) -> str:
    """A name: Greek letters as commands, one subscript as a subscript."""
    labelled = _WITH_LABEL.fullmatch(name)
    if labelled:
        return f"{_format_latex_name(labelled[1])}_{{{labelled[2]}}}"
    if name in COMMAND_NAMES:
        return f"\\{name}"
    if len(name) == 1:
        return name
    escaped = name.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"
