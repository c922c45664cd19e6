"""Text → formula: the tokens are parsed, every node gets an exact shape, the work is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from grader.formula.eval.evaluate import Array, Environment, evaluate, evaluate_finite
from grader.formula.render import (
    format_own_names_as_latex,
    format_own_names_as_text,
    to_latex,
    to_text,
)
from grader.formula.syntax.clauses import (
    DECIMAL_HINT,
    Clauses,
    Definition,
    DefinitionKind,
    make_size_error,
    split_clauses,
)
from grader.formula.syntax.lexer import read_tokens
from grader.formula.syntax.names import SubscriptedName
from grader.formula.syntax.normalize import normalize_text
from grader.formula.syntax.sum_header import SumHeader
from grader.formula.typed import tree as t
from grader.formula.typed.checker import build_typed_tree
from grader.formula.typed.operators import find_column
from grader.formula.typed.scope import IDENTITY, FormulaScope

MAX_LENGTH = 2000
#: Maximum depth of nested operations; `a + b + c` has depth two.
MAX_DEPTH = 100
#: Maximum size of one value.
MAX_ELEMENTS = 65_536
#: Maximum number of additions and multiplications, and the overhead of a step in the same unit.
MAX_WORK = 50_000_000
_WORK_PER_STEP = 2_000


#: A constant is declared as large by a bound from here on: `C >= 100`, but not `C >= 1`.
_LEAST_BOUND = 10
_SUM_CALL = re.compile(r"(?<![A-Za-z])sum[\s})]*+\(")
_MEMBER_SUM_NOTE = "sum(…) of a family was read as the sum of its members."


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was read.

    Parameters
    ----------
    constants
        The writer's own numbers, defined after ``where``.
    large
        The constants declared as large (``C >> 0``); the formula is judged at several large values.
    definitions
        The writer's other names, such as ``y`` in ``50 y where y = mu_a + mu_b``, each after those
        that it uses.
    notes
        How the text was read, in sentences for the writer, where that may surprise.
    """

    text: str
    tree: t.Node
    constants: Mapping[str, float]
    large: tuple[str, ...]
    definitions: Mapping[str, t.Node] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """The exact shape of the formula's value."""
        return self.tree.shape

    @property
    def names(self) -> frozenset[str]:
        """The question's names that the formula needs, families by the name of their matrix."""
        needed = t.collect_names(self.tree).union(*map(t.collect_names, self.definitions.values()))
        return needed.difference(self.definitions, self.large)

    def nodes(self) -> Iterator[t.Node]:
        """Every node of the formula and of its definitions."""
        for tree in (self.tree, *self.definitions.values()):
            yield from t.list_nodes(tree)

    def evaluate(self, environment: Environment, *, finite: bool = False) -> Array:
        """The value of the formula, of shape (answers, key sets, …).

        Parameters
        ----------
        environment
            The values of all names that the formula needs, and of the constants declared as large.

        Raises
        ------
        FormulaError
            With `finite`, where the value of the formula or of a definition is not finite.
        """
        compute = evaluate_finite if finite else evaluate
        if self.definitions:
            values = dict(environment.values)
            environment = replace(environment, values=values)
            for name, node in self.definitions.items():
                values[name] = compute(node, environment)
        return compute(self.tree, environment)

    def to_text(self) -> str:
        """The formula as it was read, in plain text and with the writer's own names."""
        own = format_own_names_as_text(self.constants, self.large, self.definitions)
        return to_text(self.tree) + (f" where {own}" if own else "")

    def to_latex(self) -> str:
        """The formula as it was read, in LaTeX and with the writer's own names."""
        own = format_own_names_as_latex(self.constants, self.large, self.definitions)
        return to_latex(self.tree) + (rf" \text{{ where }} {own}" if own else "")


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
        The shape that is asked for. It decides only what is open otherwise: ``I`` has its size from
        it, `[1, 2]^T` is a column where one is asked for, and `sum(k)` is the sum of the members of
        k where the sum of its entries does not fit. The formula may still have another shape.

    Raises
    ------
    FormulaError
        With the column of the first error.
    """
    clauses = split_clauses(_normalize(text), named=named)
    try:
        formula = _read(text, clauses, scope, shape)
    except FormulaError:
        if other := _read_with_member_sums(text, clauses, scope, shape):
            return other
        raise
    if shape is None or formula.shape == shape:
        return formula
    if formula.shape.transposed() == shape and (column := find_column(formula.tree)):
        return replace(formula, tree=column)
    return _read_with_member_sums(text, clauses, scope, shape) or formula


def _read_with_member_sums(
    text: str, clauses: Clauses, scope: FormulaScope, shape: Shape | None
) -> Formula | None:
    """The formula with `sum(k)` read as the sum of the members of k; None where it does not fit."""
    if shape is None or not _SUM_CALL.search(text):
        return None
    with suppress(FormulaError):
        formula = _read(text, clauses, replace(scope, sums_members=True), shape)
        if formula.shape == shape:
            return replace(formula, notes=(*formula.notes, _MEMBER_SUM_NOTE))
    return None


def _read(text: str, clauses: Clauses, scope: FormulaScope, shape: Shape | None) -> Formula:
    if not clauses.definitions:
        return Formula(text, _Reader(scope).read(clauses.body, shape), {}, (), {}, clauses.notes)
    own = _read_own_names(clauses.definitions, scope)
    tree = own.reader.read(clauses.body, shape)
    return Formula(text, tree, own.constants, own.large, own.definitions, clauses.notes)


def read_tree(text: str, scope: FormulaScope, *, shape: Shape | None = None) -> t.Node:
    """Read an author's expression, without constants of its own and without a left side.

    `shape` is what it should have, from which ``I`` can have its size; it may still have another.
    """
    return _Reader(scope).read(_normalize(text), shape)


def _normalize(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"A formula may have at most {MAX_LENGTH} characters; this one has {len(text)}.",
            column=MAX_LENGTH,
            code="formula.limit",
        )
    return normalize_text(text)


class _Reader:
    """Reads the expressions of one text, which share the bound on work.

    The caller extends the scope while it reads definitions.
    """

    def __init__(self, scope: FormulaScope) -> None:
        self.scope = scope
        self.work = 0

    def read(self, text: str, shape: Shape | None = None) -> t.Node:
        """Read a normalized text into a typed tree; `shape` is the one that is asked for."""
        return self.build(text, self.lex(text), shape)

    def lex(self, text: str) -> list[Token]:
        """The tokens of a normalized text, which must not be empty."""
        if not text.strip():
            raise FormulaError(
                "The formula is missing.", column=max(len(text), 1), code="formula.empty"
            )
        return read_tokens(text, self.scope)

    def build(self, text: str, tokens: list[Token], shape: Shape | None = None) -> t.Node:
        """The typed tree of the tokens of a text."""
        try:
            parsed: Any = _parser().parse(tokens)
        except UnexpectedInput as error:
            raise _make_syntax_error(error, text) from None
        _check_depth(parsed)
        tree = build_typed_tree(parsed, self.scope, shape=shape)
        self.work = _add_work(tree, self.work)
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


# The writer's own names


@dataclass(frozen=True, slots=True)
class _OwnNames:
    """The writer's own names, and the reader that knows them."""

    reader: _Reader
    constants: Mapping[str, float]
    large: tuple[str, ...]
    definitions: Mapping[str, t.Node]


def _read_own_names(definitions: Sequence[Definition], scope: FormulaScope) -> _OwnNames:
    _refuse_known_names(definitions, scope)
    large = tuple(each.name for each in definitions if each.kind is not DefinitionKind.VALUE)
    shapes = {**scope.shapes, **dict.fromkeys(large, NUMBER)}
    constants: dict[str, float] = {}
    trees: dict[str, t.Node] = {}
    own = frozenset(each.name for each in definitions)
    reader = _Reader(replace(scope, shapes=shapes, own=own))
    for each, tokens in _sort_by_use(definitions, reader):
        tree = reader.build(each.value, tokens)
        if tree.shape == NUMBER and not t.collect_names(tree):
            constants[each.name] = float(evaluate_finite(tree, Environment.empty())[0, 0])
        else:
            trees[each.name] = tree
            shapes = {**shapes, each.name: tree.shape}
        known = {**scope.constants, **constants}
        reader.scope = replace(reader.scope, shapes=shapes, constants=known)
    for each in definitions:
        if each.kind is DefinitionKind.BOUND and not _is_large_bound(each.value, reader):
            raise make_size_error(each.name, each.start)
    return _OwnNames(reader, constants, large, trees)


def _refuse_known_names(definitions: Sequence[Definition], scope: FormulaScope) -> None:
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


def _sort_by_use(
    definitions: Sequence[Definition], reader: _Reader
) -> Iterator[tuple[Definition, list[Token]]]:
    """The definitions of values with their tokens, each after those that it uses."""
    waiting = {
        each.name: (each, reader.lex(each.value))
        for each in definitions
        if each.kind is DefinitionKind.VALUE
    }
    uses = {name: _collect_names(tokens) for name, (_, tokens) in waiting.items()}
    while waiting:
        ready = next((name for name in waiting if uses[name].isdisjoint(waiting)), None)
        if ready is None:
            first, _ = next(iter(waiting.values()))
            raise FormulaError(
                f"{first.name} is defined in terms of itself.",
                column=first.start + 1,
                code="formula.where",
            )
        yield waiting.pop(ready)


def _collect_names(tokens: list[Token]) -> set[str]:
    """The names of values in the tokens, also those that are a size or a bound."""
    names = set()
    for token in tokens:
        match token.value:
            case SubscriptedName(label=label):
                names.add(label)
            case SumHeader(first=first, last=last):
                names |= {first.strip("{} "), last.strip("{} ")}
            case str(name):
                names.add(name)
    return names


def _is_large_bound(text: str, reader: _Reader) -> bool:
    """Whether the bound of a constant is a number from which on it can be called large."""
    try:
        tree = reader.read(text)
        if tree.shape != NUMBER or t.collect_names(tree):
            return False
        return bool(evaluate_finite(tree, Environment.empty())[0, 0] >= _LEAST_BOUND)
    except FormulaError:
        return False


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


def _add_work(tree: t.Node, work: int) -> int:
    """The work so far with that of a tree; refuses too much, and a value that is too large."""
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
        if work > MAX_WORK:
            raise make_error(
                "This formula takes too long to compute.", node.start, code="formula.limit"
            )
        if isinstance(node, t.Series):
            repeats *= node.last - node.first + 1
        waiting.extend((child, repeats) for child in node.children())
    return work


def _estimate_work(node: t.Node) -> int:
    """The approximate number of additions and multiplications of the node itself."""
    rows, columns = node.shape.rows, node.shape.columns
    match node:
        case t.Multiply(left=left, product=t.Product.MATRIX_MATRIX):
            return rows * columns * left.shape.columns
        case t.MatrixPower() | t.FunctionCall(name="inv"):
            return 4 * rows**3
        case t.FunctionCall(name="pinv"):
            return 20 * rows * columns * max(rows, columns)
        case t.FunctionCall(shapes=shapes):
            return max(shape.size * max(shape.rows, shape.columns) for shape in shapes)
        case _:
            return max((child.shape.size for child in node.children()), default=rows * columns)
