"""How much a formula may ask for: depth, elements, work. Anything above is refused beforehand."""

from __future__ import annotations

from lark import Token, Tree

from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.typed import tree as t

#: How many operations may stand inside each other; `a + b + c` is two deep.
MAX_DEPTH = 100
#: How many numbers one value may hold.
MAX_ELEMENTS = 65_536
#: How many additions and multiplications a formula may take, and what a step costs beside them.
MAX_WORK = 50_000_000
WORK_PER_STEP = 2_000


def check_depth(parsed: Tree[Token]) -> None:
    """Refuse a parse tree that would exhaust the stack of whoever walks it."""
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


def check_work(tree: t.Node, most: int = MAX_WORK) -> None:
    """Refuse a tree whose values are too large or that takes too long to compute."""
    work = 0
    waiting = [(tree, 1)]
    while waiting:
        node, repeats = waiting.pop()
        if node.shape.size > MAX_ELEMENTS:
            raise make_error(
                f"This would be {node.shape.describe()}; that is too large.",
                node.span,
                code="formula.limit",
            )
        work += repeats * (WORK_PER_STEP + _estimate_work(node))
        if work > most:
            raise make_error(
                "This formula takes too long to compute.", node.span, code="formula.limit"
            )
        if isinstance(node, t.Series):
            repeats *= node.last - node.first + 1
        waiting.extend((child, repeats) for child in node.children())


def _estimate_work(node: t.Node) -> int:
    """About how many additions and multiplications the node itself takes."""
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
