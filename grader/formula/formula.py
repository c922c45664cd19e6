"""Text → formula: the tokens are parsed, every node gets an exact shape, the work is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached
from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from grader.domain.shapes import NUMBER, Shape
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.render import (
    format_constants_as_latex,
    format_constants_as_text,
    to_latex,
    to_text,
)
from grader.formula.syntax.clauses import DECIMAL_HINT, MAX_DEFINITIONS, Definition, split_clauses
from grader.formula.syntax.lexer import read_tokens
from grader.formula.syntax.normalize import normalize_text
from grader.formula.typed import tree as t
from grader.formula.typed.checker import build_typed_tree
from grader.formula.typed.scope import IDENTITY, FormulaScope

MAX_LENGTH = 2000
#: Maximum depth of nested operations; `a + b + c` has depth two.
MAX_DEPTH = 100
#: Maximum size of one value.
MAX_ELEMENTS = 65_536
#: Maximum number of additions and multiplications, and the overhead of a step in the same unit.
MAX_WORK = 50_000_000
_WORK_PER_STEP = 2_000


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was read.

    Parameters
    ----------
    constants
        The writer's own constants, defined after ``where``.
    large
        The constants declared as large (``C >> 0``); the formula is judged at several large values.
    """

    text: str
    tree: t.Node
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


# Pages read the same text at every pause in typing, and students write the same formulas.
@cached(LRUCache(1 << 18, getsizeof=lambda formula: len(formula.text) + 1), lock=Lock())
def read_formula(
    text: str, scope: FormulaScope, *, named: str = "", shape: Shape | None = None
) -> Formula:
    """Read a formula.

    Parameters
    ----------
    named
        The name of the quantity; a leading ``named =`` is dropped.
    shape
        The shape that is asked for, from which ``I`` can have its size. The formula may still have
        another shape.

    Raises
    ------
    FormulaError
        With the column of the first error.
    """
    clauses = split_clauses(_normalize(text), named=named)
    constants, large = _read_definitions(clauses.definitions, scope)
    inner = replace(
        scope,
        constants={**scope.constants, **constants},
        shapes={**scope.shapes, **dict.fromkeys(large, NUMBER)},
    )
    return Formula(text, _read_tree(clauses.body, inner, shape), constants, large)


def read_tree(text: str, scope: FormulaScope, *, shape: Shape | None = None) -> t.Node:
    """Read an author's expression, without constants of its own and without a left side.

    `shape` is what it should have, from which ``I`` can have its size; it may still have another.
    """
    return _read_tree(_normalize(text), scope, shape)


def _normalize(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"A formula may have at most {MAX_LENGTH} characters; this one has {len(text)}.",
            column=MAX_LENGTH,
            code="formula.limit",
        )
    return normalize_text(text)


def _read_tree(
    text: str, scope: FormulaScope, shape: Shape | None, max_work: int = MAX_WORK
) -> t.Node:
    if not text.strip():
        raise FormulaError(
            "The formula is missing.", column=max(len(text), 1), code="formula.empty"
        )
    tokens = read_tokens(text, scope)
    try:
        parsed: Any = _parser().parse(tokens)
    except UnexpectedInput as error:
        raise _make_syntax_error(error, text) from None
    _check_depth(parsed)
    tree = build_typed_tree(parsed, scope, shape=shape)
    _check_work(tree, max_work)
    return tree


class _TokenStream(LarkLexer):
    """Passes the tokens of our own lexer to the parser."""

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
                hint="Choose another name for your constant.",
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
    """The definitions, each after those it refers to."""
    waiting = list(definitions)
    while waiting:
        names = "|".join(re.escape(each.name) for each in waiting)
        reference = re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")
        ready = next((each for each in waiting if not reference.search(each.value)), None)
        if ready is None:
            raise FormulaError(
                f"{waiting[0].name} is defined in terms of itself.",
                column=waiting[0].start + 1,
                code="formula.where",
            )
        waiting.remove(ready)
        yield ready


def _read_constant(definition: Definition, scope: FormulaScope) -> float:
    # All constants together may take as much work as one formula.
    tree = _read_tree(definition.value, scope, None, MAX_WORK // MAX_DEFINITIONS)
    problem = ""
    if tree.shape != NUMBER:
        problem = f"A constant must be a number, but this is {tree.shape.describe()}."
    elif names := t.collect_names(tree):
        problem = f"A constant may not depend on {', '.join(sorted(names))}."
    if problem:
        hint = "Write this expression directly into the formula, in brackets."
        raise make_error(problem, tree.start, hint=hint, code="formula.where")
    return float(evaluate_finite(tree, Environment.empty())[0, 0])


def _make_syntax_error(error: UnexpectedInput, text: str) -> FormulaError:
    token = error.token if isinstance(error, UnexpectedToken) else None
    if token is None or token.type == "$END":
        return FormulaError(
            "The formula ends too early.",
            column=len(text.rstrip()) + 1,
            hint="Complete it, or remove the last sign.",
            code="formula.syntax",
        )
    start, end = token.start_pos or 0, token.end_pos or 0
    hint = ""
    if token.type == "COMPARE":
        hint = "Comparisons are not allowed in an answer."
    elif re.match(r"[0-9],[0-9]", text[max(start - 1, 0) :]):
        hint = DECIMAL_HINT
    return FormulaError(
        f"{text[start:end]!r} is not expected here.",
        column=start + 1,
        hint=hint,
        code="formula.syntax",
    )


# Limits


def _check_depth(parsed: Tree[Token]) -> None:
    """Refuse a parse tree that is too deep for recursive functions."""
    level = [parsed]
    for _ in range(MAX_DEPTH):
        level = [each for tree in level for each in tree.children if isinstance(each, Tree)]
        if not level:
            return
    raise FormulaError(
        "This formula is nested too deeply, or has too many terms or factors in a row.",
        column=_first_column(level[0]),
        code="formula.limit",
    )


def _first_column(parsed: Tree[Token]) -> int:
    first: Tree[Token] | Token = parsed
    while isinstance(first, Tree):
        first = first.children[0]
    return (first.start_pos or 0) + 1


def _check_work(tree: t.Node, max_work: int) -> None:
    """Refuse a tree with too large a value, or one that takes too long to compute."""
    work = 0
    waiting = [(tree, 1)]
    while waiting:
        node, repeats = waiting.pop()
        if node.shape.size > MAX_ELEMENTS:
            raise make_error(
                f"This would be {node.shape.describe()}, which is too large.",
                node.start,
                code="formula.limit",
            )
        work += repeats * (_WORK_PER_STEP + _estimate_work(node))
        if work > max_work:
            raise make_error(
                "This formula takes too long to compute.", node.start, code="formula.limit"
            )
        if isinstance(node, t.Series):
            repeats *= node.last - node.first + 1
        waiting.extend((child, repeats) for child in node.children())


def _estimate_work(node: t.Node) -> int:
    """The approximate number of additions and multiplications of the node itself."""
    rows, columns = node.shape.rows, node.shape.columns
    match node:
        case t.Multiply(left=left, product=t.Product.MATRIX_MATRIX):
            return rows * columns * left.shape.columns
        case t.MatrixPower() | t.FunctionCall(name="inv"):
            return 4 * rows**3
        case t.FunctionCall(shapes=shapes):
            return max(shape.size * max(shape.rows, shape.columns) for shape in shapes)
        case _:
            return max((child.shape.size for child in node.children()), default=rows * columns)
