"""Typed tree → LaTeX."""

from __future__ import annotations

import re

from grader.domain.shapes import Kind
from grader.formula.syntax.notation import COMMAND_NAMES
from grader.formula.text.plain_text import Level, PlainWriter, Shown
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

    def _number(self, node: t.Number) -> Shown:
        if node.text[0].isalpha():
            return latex_name(node.text), Level.ATOM
        return latex_number(node.text)

    def _name(self, node: t.Name) -> Shown:
        return latex_name(node.name), Level.ATOM

    def _identity(self, node: t.Identity) -> Shown:
        return f"I_{{{node.shape.rows}}}", Level.ATOM

    def _member(self, node: t.Member) -> Shown:
        return f"{latex_name(node.name)}_{{{node.label}}}", Level.ATOM

    def _left_of_product(self, node: t.Node) -> Level:
        return Level.PRODUCT

    def _times(self) -> str:
        return r" \cdot "

    def _divide(self, node: t.Divide) -> Shown:
        left, right = self.at(node.left, Level.SUM), self.at(node.right, Level.SUM)
        return rf"\frac{{{left}}}{{{right}}}", Level.POWER

    def _superscript(self, text: str, *, is_short: bool) -> str:
        return f"^{{{text}}}" if text != "T" else "^{(T)}"

    def _transpose(self, node: t.Transpose) -> Shown:
        return rf"{self.at(node.operand, Level.ATOM)}^{{\top}}", Level.POWER

    def _series(self, node: t.Series) -> Shown:
        head = f"{node.bound}={node.first + 1}"
        labels = ", ".join(node.labels)
        if node.excluded:
            head += rf",\, {node.bound} \neq {labels}"
        elif node.included is not None:
            head += rf",\, {node.bound} \in \{{{labels}\}}"
        body = self.at(node.body, Level.SERIES)
        return rf"\sum_{{{head}}}^{{{node.last + 1}}} {body}", Level.SERIES

    def _call(self, node: t.Call) -> Shown:
        listed = self._listed(node.arguments)
        match node.name, node.shapes[0].kind:
            case "sqrt", _:
                return rf"\sqrt{{{listed}}}", Level.ATOM
            case "norm", Kind.COLUMN | Kind.ROW:
                return rf"\lVert {listed} \rVert", Level.ATOM
            case "abs", Kind.NUMBER:
                return rf"\lvert {listed} \rvert", Level.ATOM
            case "dot", _:
                return rf"\langle {listed} \rangle", Level.ATOM
            case _:
                return self._called(node.name, listed), Level.ATOM

    def _called(self, name: str, arguments: str) -> str:
        escaped = name.replace("_", r"\_")
        command = f"\\{name}" if name in _COMMANDS else rf"\operatorname{{{escaped}}}"
        return command + self._bracketed(arguments)

    def _comparison(self, operator: str) -> str:
        return _COMPARISONS[operator]

    def _both(self, node: t.Both) -> Shown:
        left = self.at(node.left, Level.CONDITION)
        right = self.at(node.right, Level.COMPARISON)
        return rf"{left} \text{{ and }} {right}", Level.CONDITION


def latex_number(text: str) -> Shown:
    """A number as it was written, with a power of ten for an exponent."""
    if not _SCIENTIFIC.fullmatch(text):
        return text, Level.ATOM
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent)) > _SAFE_EXPONENT:
        # Written anew, because in 0.1e309 the power of ten alone would overflow.
        mantissa, _, exponent = repr(float(text)).partition("e")
    power = f"10^{{{int(exponent or 0)}}}"
    if float(mantissa) == 1:
        return power, Level.POWER
    return rf"{mantissa} \cdot {power}", Level.PRODUCT


def latex_name(name: str) -> str:
    """A name: Greek letters as commands, one subscript as a subscript."""
    labelled = _WITH_LABEL.fullmatch(name)
    if labelled:
        return f"{latex_name(labelled[1])}_{{{labelled[2]}}}"
    if name in COMMAND_NAMES:
        return f"\\{name}"
    if len(name) == 1:
        return name
    escaped = name.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"
