"""The typed tree of a formula: every node has an exact shape and a position in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from grader.domain.shapes import Shape
from grader.formula.eval.functions import Function
from grader.formula.typed.scope import Family


@dataclass(frozen=True, slots=True)
class BoundIndex:
    """The index of a sum, as the position of a member in its body."""

    name: str


#: A position in a family: a number from zero, the name of a drawn index, or the index of a sum.
Position = int | str | BoundIndex


class Product(Enum):
    """The kind of a product, which depends on the two shapes."""

    SCALE = "a number times anything"
    DOT = "a row times a column"
    OUTER = "a column times a row"
    MATRIX_COLUMN = "a matrix times a column"
    ROW_MATRIX = "a row times a matrix"
    MATRIX_MATRIX = "a matrix times a matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all nodes; ``start`` is the position of its first character, from zero."""

    shape: Shape
    start: int

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (each for each in value if isinstance(each, Node))


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Node):
    """A literal, or a constant such as ``n`` whose value is known in advance."""

    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """A named value."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Node):
    """The identity matrix, written ``I_n``, or ``I`` where its size follows from its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyMember(Node):
    """One vector of a family; ``label`` is its subscript as written."""

    name: str
    label: str
    family: Family
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Negate(Node):
    """The negative of a value."""

    operand: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose(Node):
    """The transpose of a value."""

    operand: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(Node):
    """A sum or, with ``sign`` -1, a difference of two values of one shape."""

    left: Node
    right: Node
    sign: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiply(Node):
    """A product of the kind ``product``."""

    left: Node
    right: Node
    product: Product


@dataclass(frozen=True, slots=True, kw_only=True)
class Divide(Node):
    """A value divided by a number."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Power(Node):
    """A number to the power of a number."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPower(Node):
    """A square matrix to a whole power; -1 is its inverse."""

    base: Node
    exponent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall(Node):
    """A function applied to values; `shapes` are those of its arguments."""

    name: str
    function: Function
    arguments: tuple[Node, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedCall(Node):
    """A function of sizes, such as ``zeros(n, d)``; its value is known in advance."""

    name: str
    function: Function
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVector(Node):
    """The vector that is 1 at a drawn index and 0 elsewhere."""

    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Node):
    """Values listed in brackets: numbers make a column, columns make the rows of a matrix."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Node):
    """A sum over a bound index, with the indices that are left out or are the only ones.

    ``first`` and ``last`` count from zero; ``labels`` are those indices as written.
    """

    bound: str
    first: int
    last: int
    excluded: tuple[Position, ...]
    included: tuple[Position, ...] | None
    labels: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Node):
    """A comparison of two numbers; ``operator`` is one of ``< <= > >=``."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class And(Node):
    """Two conditions that must both hold."""

    left: Node
    right: Node


def list_nodes(node: Node) -> Iterator[Node]:
    """Every node of the tree, this one first."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.children())


def find_whole_number(node: Node) -> int | None:
    """The value of a node that is a literal whole number; None for any other node."""
    match node:
        case Number(value=value) if value == int(value):
            return int(value)
        case Negate(operand=Number(value=value)) if value == int(value):
            return -int(value)
        case _:
            return None


def collect_names(node: Node) -> frozenset[str]:
    """The named values that the tree needs, families by the name of their matrix."""
    found = set()
    for each in list_nodes(node):
        match each:
            case Name(name=name):
                found.add(name)
            case FamilyMember(family=family):
                found.add(family.source)
    return frozenset(found)


def has_bound_index(node: Node) -> bool:
    """Whether the node's value changes from term to term of a sum around it."""
    own = {each.bound for each in list_nodes(node) if isinstance(each, Series)}
    return any(
        isinstance(position, BoundIndex) and position.name not in own
        for each in list_nodes(node)
        for position in _positions(each)
    )


def _positions(node: Node) -> Iterator[Position]:
    match node:
        case FamilyMember(position=position):
            yield position
        case Series(excluded=excluded, included=included):
            yield from (*excluded, *(included or ()))
