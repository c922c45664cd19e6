"""Text → formula: the tokens are parsed by the grammar and given exact shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from grader.domain.shapes import NUMBER, Shape
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.syntax.clauses import MAX_DEFINITIONS, Definition, split_clauses
from grader.formula.syntax.lexer import read_tokens
from grader.formula.syntax.normalize import normalize_text
from grader.formula.text.render import (
    format_constants_as_latex,
    format_constants_as_text,
    to_latex,
    to_text,
)
from grader.formula.typed.checker import build_typed_tree
from grader.formula.typed.limits import MAX_WORK, check_depth, check_work
from grader.formula.typed.scope import IDENTITY, FormulaScope
from grader.formula.typed.tree import Node, collect_names

MAX_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was read.

    Parameters
    ----------
    constants
        The writer's own constants, from behind ``where``.
    large
        Those declared as large (``C >> 0``): the formula is judged for every value of a ladder.
    """

    text: str
    tree: Node
    constants: Mapping[str, float]
    large: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        """The exact shape of the formula's value."""
        return self.tree.shape

    def to_text(self) -> str:
        """The formula as it was read, in plain text and with its constants."""
        constants = format_constants_as_text(self.constants.items(), self.large)
        return to_text(self.tree) + (f" where {constants}" if constants else "")

    def to_latex(self) -> str:
        """The formula as it was read, in LaTeX and with its constants."""
        constants = format_constants_as_latex(self.constants.items(), self.large)
        return to_latex(self.tree) + (rf" \text{{ where }} {constants}" if constants else "")


def read_formula(text: str, scope: FormulaScope, *, named: str = "") -> Formula:
    """Read a formula.

    Parameters
    ----------
    named
        The name of what is defined; a leading ``named =`` is dropped.

    Raises
    ------
    FormulaError
        With the column of the first fault.
    """
    clauses = split_clauses(_normalize(text), named=named)
    constants, large = _read_definitions(clauses.definitions, scope)
    inner = replace(
        scope,
        constants={**scope.constants, **constants},
        shapes={**scope.shapes, **dict.fromkeys(large, NUMBER)},
    )
    return Formula(text, _read_tree(clauses.body, inner), constants, large)


def read_tree(text: str, scope: FormulaScope) -> Node:
    """Read an author's expression, without own constants and without a left side."""
    return _read_tree(_normalize(text), scope)


def _normalize(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"A formula may have {MAX_LENGTH} characters; this has {len(text)}.",
            column=MAX_LENGTH,
            code="formula.limit",
        )
    return normalize_text(text)


def _read_tree(text: str, scope: FormulaScope, most_work: int = MAX_WORK) -> Node:
    if not text.strip():
        raise FormulaError(
            "There is no formula here.", column=max(len(text), 1), code="formula.empty"
        )
    tokens = read_tokens(text, scope)
    try:
        parsed: Any = _parser().parse(tokens)
    except UnexpectedInput as error:
        raise _make_syntax_error(error, text) from None
    check_depth(parsed)
    tree = build_typed_tree(parsed, scope)
    check_work(tree, most_work)
    return tree


class _TokenStream(LarkLexer):
    """Hands the tokens made by our own lexer to the parser."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        yield from lexer_state


@cache
def _parser() -> Lark:
    grammar = resources.files("grader.formula.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer=_TokenStream, propagate_positions=False)


def _read_definitions(
    definitions: Sequence[Definition], scope: FormulaScope
) -> tuple[dict[str, float], tuple[str, ...]]:
    seen: set[str] = set()
    for each in definitions:
        name = each.name
        if scope.knows(name) or name in scope.families or name == IDENTITY or name in seen:
            raise FormulaError(
                f"{name} already has a meaning here.",
                column=each.start + 1,
                hint="Choose another letter for your constant.",
                code="formula.where",
            )
        seen.add(name)
    large = tuple(each.name for each in definitions if not each.value)
    scope = replace(scope, shapes={**scope.shapes, **dict.fromkeys(large, NUMBER)})
    constants: dict[str, float] = {}
    for each in _sort_definitions([each for each in definitions if each.value]):
        inner = replace(scope, constants={**scope.constants, **constants})
        constants[each.name] = _read_constant(each, inner)
    return constants, large


def _sort_definitions(definitions: list[Definition]) -> Iterator[Definition]:
    """Definitions such that each comes after those it speaks of."""
    waiting = list(definitions)
    while waiting:
        names = "|".join(re.escape(each.name) for each in waiting)
        spoken_of = re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")
        ready = next((each for each in waiting if not spoken_of.search(each.value)), None)
        if ready is None:
            raise FormulaError(
                f"{waiting[0].name} is explained by itself.",
                column=waiting[0].start + 1,
                code="formula.where",
            )
        waiting.remove(ready)
        yield ready


def _read_constant(definition: Definition, scope: FormulaScope) -> float:
    # All constants together may take as long as a formula.
    tree = _read_tree(definition.value, scope, MAX_WORK // MAX_DEFINITIONS)
    if tree.shape != NUMBER:
        raise make_error(
            f"A constant must be a number, but this is {tree.shape.describe()}.",
            tree.span,
            hint="Write it into the formula itself, in brackets.",
            code="formula.where",
        )
    if collect_names(tree):
        raise make_error(
            "A constant may not depend on what was drawn.",
            tree.span,
            hint="Write it into the formula itself, in brackets.",
            code="formula.where",
        )
    return float(evaluate_finite(tree, Environment.empty())[0, 0])


def _make_syntax_error(error: UnexpectedInput, text: str) -> FormulaError:
    token = error.token if isinstance(error, UnexpectedToken) else None
    if token is None or token.type == "$END":
        return FormulaError(
            "The formula ends too early.", column=len(text.rstrip()) + 1, code="formula.syntax"
        )
    start, end = token.start_pos or 0, token.end_pos or 0
    hint = ""
    if token.type == "COMPARE":
        hint = "Comparisons are not part of an answer."
    elif re.match(r"[0-9],[0-9]", text[max(start - 1, 0) :]):
        hint = "Decimals have a point, thousands have no sign: 0.5, 10000."
    return FormulaError(
        f"{text[start:end]!r} cannot stand here.",
        column=start + 1,
        length=end - start,
        hint=hint,
        code="formula.syntax",
    )
