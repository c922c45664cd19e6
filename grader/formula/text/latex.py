"""Typed tree → LaTeX."""

from __future__ import annotations

import re

from grader.domain.shapes import Kind
from grader.formula.syntax.notation import COMMAND_NAMES
from grader.formula.text.plain_text import PlainWriter, Precedence, Rendered
from grader.formula.typed import tree as t

_SCIENTIFIC = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+")
_SAFE_EXPONENT = 290
_WITH_LABEL = re.compile(r"([A-Za-z0-9]+)_([A-Za-z0-9]+)")
_COMMANDS = frozenset({"exp", "log", "ln", "min", "max", "tanh"})
_COMPARISONS = {"<": "<", "<=": r"\leq", ">": ">", ">=": r"\geq"}


class LatexWriter(PlainWriter):
    """Writes LaTeX."""

    def _bracketed(self, text: str) -> str:
        return rf"\left({text}\right)"

    def _number(self, node: t.Number) -> Rendered:
        if node.text[0].isalpha():
            return format_latex_name(node.text), Precedence.ATOM
        return format_latex_number(node.text)

    def _name(self, node: t.Name) -> Rendered:
        return format_latex_name(node.name), Precedence.ATOM

    def _identity(self, node: t.Identity) -> Rendered:
        return f"I_{{{node.shape.rows}}}", Precedence.ATOM

    def _member(self, node: t.FamilyMember) -> Rendered:
        return f"{format_latex_name(node.name)}_{{{node.label}}}", Precedence.ATOM

    def _left_of_product(self, node: t.Node) -> Precedence:
        return Precedence.PRODUCT

    def _times(self) -> str:
        return r" \cdot "

    def _divide(self, node: t.Divide) -> Rendered:
        left, right = self.at(node.left, Precedence.SUM), self.at(node.right, Precedence.SUM)
        return rf"\frac{{{left}}}{{{right}}}", Precedence.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        return f"^{{{text}}}" if text != "T" else "^{(T)}"

    def _transpose(self, node: t.Transpose) -> Rendered:
        return rf"{self.at(node.operand, Precedence.ATOM)}^{{\top}}", Precedence.POWER

    def _series(self, node: t.Series) -> Rendered:
        head = f"{node.bound}={node.first + 1}"
        labels = ", ".join(node.labels)
        if node.excluded:
            head += rf",\, {node.bound} \neq {labels}"
        elif node.included is not None:
            head += rf",\, {node.bound} \in \{{{labels}\}}"
        body = self.at(node.body, Precedence.SERIES)
        return rf"\sum_{{{head}}}^{{{node.last + 1}}} {body}", Precedence.SERIES

    def _call(self, node: t.FunctionCall) -> Rendered:
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

    def _comparison(self, operator: str) -> str:
        return _COMPARISONS[operator]

    def _both(self, node: t.And) -> Rendered:
        left = self.at(node.left, Precedence.CONDITION)
        right = self.at(node.right, Precedence.COMPARISON)
        return rf"{left} \text{{ and }} {right}", Precedence.CONDITION


def format_latex_number(text: str) -> Rendered:
    """A number as it was written, with a power of ten for an exponent."""
    if not _SCIENTIFIC.fullmatch(text):
        return text, Precedence.ATOM
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent)) > _SAFE_EXPONENT:
        # Written anew, because in 0.1e309 the power of ten alone would overflow.
        mantissa, _, exponent = repr(float(text)).partition("e")
    power = f"10^{{{int(exponent or 0)}}}"
    if float(mantissa) == 1:
        return power, Precedence.POWER
    return rf"{mantissa} \cdot {power}", Precedence.PRODUCT


def format_latex_name(name: str) -> str:
    """A name: Greek letters as commands, one subscript as a subscript."""
    labelled = _WITH_LABEL.fullmatch(name)
    if labelled:
        return f"{format_latex_name(labelled[1])}_{{{labelled[2]}}}"
    if name in COMMAND_NAMES:
        return f"\\{name}"
    if len(name) == 1:
        return name
    escaped = name.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"
