"""Typed tree → text: how a formula was read, in plain text or in LaTeX, with few brackets.

Either can be read again. Plain text gives the same tree; LaTeX gives the same value, because it
has no `1e6` and writes a power of ten instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.formula.text.latex import LatexWriter, format_latex_name, format_latex_number
from grader.formula.text.plain_text import PlainWriter, Precedence
from grader.formula.typed import tree as t

_MAX_LENGTH = 40


def to_text(node: t.Node) -> str:
    """A tree in plain text: `40 (mu_a + mu_b)`."""
    return PlainWriter().at(node, Precedence.CONDITION)


def to_latex(node: t.Node) -> str:
    r"""A tree in LaTeX: `40 \left(\mu_{a} + \mu_{b}\right)`."""
    return LatexWriter().at(node, Precedence.CONDITION)


def format_constants_as_text(constants: Iterable[tuple[str, float]], large: Iterable[str]) -> str:
    """The writer's constants in plain text: `C = 50, t >> 0`; empty where there are none."""
    given = (f"{name} = {_number_text(value)}" for name, value in constants)
    return ", ".join([*given, *(f"{name} >> 0" for name in large)])


def format_constants_as_latex(constants: Iterable[tuple[str, float]], large: Iterable[str]) -> str:
    r"""The writer's constants in LaTeX: `C = 50, t \gg 0`; empty where there are none."""
    given = (
        f"{format_latex_name(name)} = {format_latex_number(_number_text(value))[0]}"
        for name, value in constants
    )
    return ", ".join([*given, *(rf"{format_latex_name(name)} \gg 0" for name in large)])


def to_short_text(node: t.Node, least: Precedence = Precedence.CONDITION) -> str:
    """A tree in plain text for a message: cut where it is long, in brackets where it is loose."""
    text = PlainWriter().at(node, least)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")
