"""Text → formula: the tokens are parsed by the grammar and given exact shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from grader.domain.shapes import NUMBER, Shape
from grader.errors import FormulaError
from grader.formula.evaluate import Environment, evaluate_finite
from grader.formula.notation import blank_out
from grader.formula.scope import Scope
from grader.formula.tokens import lex
from grader.formula.tree import Node, walk
from grader.formula.typing import assign_shapes

MAX_LENGTH = 2000
MAX_ELEMENTS = 65_536
MAX_COST = 50_000_000

_WHERE = re.compile(r",?\s*(?<![A-Za-z\\])(?:where|with|for)(?![A-Za-z])")
_DEFINITION = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9_]*|\\[A-Za-z]+|[α-ω])\s*"
    r"(?P<sign>=|>>|≫|\\gg(?![A-Za-z])|→|->|\\to(?![A-Za-z])|\\rightarrow)\s*(?P<value>.*)",
    re.DOTALL,
)
_INLINE_DEFINITION = re.compile(r",\s*(?=[A-Za-z]\w*\s*(?:=|>>|≫|\\gg))")


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


def read_formula(text: str, scope: Scope, *, named: str = "") -> Formula:
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
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"A formula may have {MAX_LENGTH} characters; this has {len(text)}.",
            column=MAX_LENGTH,
            code="formula.limit",
        )
    plain = _without_left_side(blank_out(text), named)
    body, definitions = _split(plain)
    constants, large = _read_definitions(definitions, scope)
    inner = replace(scope, constants={**scope.constants, **constants})
    inner = replace(inner, shapes={**inner.shapes, **dict.fromkeys(large, NUMBER)})
    return Formula(text, _read_tree(body, inner), constants, large)


def read_tree(text: str, scope: Scope) -> Node:
    """Read an author's expression, without own constants and without a left side."""
    if len(text) > MAX_LENGTH:
        raise FormulaError("This formula is too long.", code="formula.limit")
    return _read_tree(blank_out(text), scope)


def _read_tree(text: str, scope: Scope) -> Node:
    if not text.strip():
        raise FormulaError("There is no formula here.", code="formula.empty")
    tokens = list(lex(text, scope))
    try:
        parsed: Any = _parser().parse(tokens)
    except UnexpectedInput as error:
        raise _syntax_error(error, text) from None
    tree = assign_shapes(parsed, text=text, scope=scope)
    _check_cost(tree)
    return tree


class _Tokens(LarkLexer):
    """Hands the tokens made by our own lexer to the parser."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        yield from lexer_state


@cache
def _parser() -> Lark:
    grammar = resources.files("grader.formula").joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer=_Tokens, propagate_positions=False)


def _without_left_side(text: str, named: str) -> str:
    """Drop a leading `q =`; also `q_1 =` for a field called q1, and `c_2 ≈` for c_2_plus_d."""
    if not named:
        return text
    base = re.match(r"[A-Za-z]+", named)
    letters = base[0] if base else named
    match = re.match(
        rf"\s*{letters}(?:_?\{{?\w+\}}?)?\s*(?:\^\{{?\*\}}?)?\s*(?::=|=|≈|\\approx)", text
    )
    return " " * match.end() + text[match.end() :] if match else text


def _split(text: str) -> tuple[str, list[tuple[str, int]]]:
    """Split a formula from its definitions, each with the position it starts at."""
    match = _WHERE.search(text) or _INLINE_DEFINITION.search(text)
    if match is None:
        return text, []
    pieces = []
    start = match.end()
    for cut in _cuts(text, start):
        pieces.append((text[start:cut], start))
        start = cut + 1
    return text[: match.start()], pieces


def _cuts(text: str, start: int) -> Iterator[int]:
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0 and text[position] in ",;":
            yield position
    yield len(text)


def _read_definitions(
    definitions: list[tuple[str, int]], scope: Scope
) -> tuple[dict[str, float], tuple[str, ...]]:
    constants: dict[str, float] = {}
    large: list[str] = []
    for text, start in definitions:
        match = _DEFINITION.fullmatch(text)
        if match is None:
            raise FormulaError(
                "After 'where' stand your own constants.",
                column=start + 1,
                hint="Write: where C = 50, t = 1e6.",
                code="formula.where",
            )
        name = match["name"].lstrip("\\")
        if scope.knows(name) or name in scope.families or name in constants or name == "I":
            raise FormulaError(
                f"{name} already has a meaning here.",
                column=start + match.start("name") + 1,
                hint="Choose another letter for your constant.",
                code="formula.where",
            )
        if match["sign"] == "=":
            inner = replace(scope, constants={**scope.constants, **constants})
            place = " " * (start + match.start("value"))
            constants[name] = _constant(place + match["value"], inner)
        else:
            large.append(name)
    return constants, tuple(large)


def _constant(text: str, scope: Scope) -> float:
    tree = _read_tree(text, scope)
    if tree.shape != NUMBER:
        raise FormulaError(
            f"A constant must be a number, but this is {tree.shape.describe()}.",
            column=tree.span.start + 1,
            length=tree.span.end - tree.span.start,
            code="formula.where",
        )
    needed = next((node for node in walk(tree) if hasattr(node, "name")), None)
    if needed is not None and not hasattr(needed, "function"):
        raise FormulaError(
            "A constant may not depend on what was drawn.",
            column=needed.span.start + 1,
            code="formula.where",
        )
    return float(evaluate_finite(tree, Environment.empty())[0, 0])


def _check_cost(tree: Node) -> None:
    cost = 0
    for node in walk(tree):
        if node.shape.size > MAX_ELEMENTS:
            raise FormulaError(
                f"This would be {node.shape.describe()}; that is too large.",
                column=node.span.start + 1,
                code="formula.limit",
            )
        repeats = getattr(node, "last", 0) - getattr(node, "first", 0) + 1
        inner = max((child.shape.size for child in node.children()), default=1)
        cost += repeats * max(node.shape.size, inner) * max(node.shape.rows, node.shape.columns)
    if cost > MAX_COST:
        raise FormulaError("This formula is too costly to compute.", code="formula.limit")


def _syntax_error(error: UnexpectedInput, text: str) -> FormulaError:
    token = error.token if isinstance(error, UnexpectedToken) else None
    if token is None or token.type == "$END":
        return FormulaError(
            "The formula ends too early.", column=len(text.rstrip()) + 1, code="formula.syntax"
        )
    start, end = token.start_pos or 0, token.end_pos or 0
    written = text[start:end]
    return FormulaError(
        f"{written!r} cannot stand here.",
        column=start + 1,
        length=end - start,
        hint="Comparisons are not part of an answer." if token.type == "COMPARE" else "",
        code="formula.syntax",
    )
