"""What a formula may speak of: the names, families, indices and functions of one question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from grader.domain.shapes import Kind, Shape, make_column_shape
from grader.formula.eval.functions import CORE_FUNCTIONS, Function

#: The identity matrix, unless the question uses the letter otherwise.
IDENTITY = "I"

#: `x^T` is the transpose of x, whatever the letter stands for by itself.
TRANSPOSE_LETTER = "T"

#: Numbers that everybody knows, for questions that do not use the letter otherwise. `e` is one
#: only where it is raised to a power: `e^x`.
EULER = "e"
MATH_CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, EULER: math.e})


@dataclass(frozen=True, slots=True)
class Family:
    """Vectors that share a name and differ by their subscript, such as ``mu_a`` and ``mu_b``.

    Parameters
    ----------
    source
        The name of the matrix that holds the members.
    count, length
        How many members there are, and how long each is.
    by_columns
        Whether the members are the matrix's columns; else they are its rows.
    labels
        Subscripts that are letters. Each stands for a fixed position, or for the index drawn
        under that name.
    numbered
        Whether ``x_1`` is allowed too. Numeric subscripts count from one, as papers do.
    """

    source: str
    count: int
    length: int
    by_columns: bool = False
    labels: Mapping[str, int | str] = field(default_factory=dict)
    numbered: bool = False

    def list_members(self, name: str) -> Iterator[str]:
        """The names of all members of the family called `name`, such as ``mu_a``."""
        yield from (f"{name}_{label}" for label in self.labels)
        if self.numbered:
            yield from (f"{name}_{number}" for number in range(1, self.count + 1))

    def list_usable(self, name: str) -> Iterator[str]:
        """The names of the members for a reader, numbers as a range: ``x_1 … x_3``."""
        yield from (f"{name}_{label}" for label in self.labels)
        if self.numbered:
            yield f"{name}_1 … {name}_{self.count}"

    @property
    def member_shape(self) -> Shape:
        """The shape of one member: a column, also where the members are rows of a matrix."""
        return make_column_shape(self.length)


@dataclass(frozen=True, slots=True, eq=False)
class FormulaScope:
    """All names a formula may use. A scope equals itself only, so that it can be a cache's key.

    ``constants`` are numbers known without drawing anything (``n``, ``d``), and may give sizes;
    ``shapes`` are the other values; ``indices`` are drawn indices, which occur as subscripts only,
    each with the number of things that it counts. ``withheld`` are names of the question that a
    formula may not use, each with a sentence that says why.
    ``own`` are the names that the writer defines beside the formula, known before their values are.
    With ``sums_members``, `sum(k)` of a family is the sum of its members and not of all entries.
    """

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)
    indices: Mapping[str, int] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    functions: Mapping[str, Function] = field(default_factory=lambda: CORE_FUNCTIONS)
    allows_conditions: bool = False
    sums_members: bool = False
    withheld: Mapping[str, str] = field(default_factory=dict)

    def with_shapes(self, shapes: Mapping[str, Shape]) -> FormulaScope:
        """This scope with further values; a matrix among them is a family by its rows."""
        families = dict(self.families)
        for name, shape in shapes.items():
            if shape.kind is Kind.MATRIX and name not in families:
                families[name] = Family(
                    name, shape.rows, shape.columns, labels=self.find_labels(shape.rows)
                )
        return replace(self, shapes={**self.shapes, **shapes}, families=families)

    def find_labels(self, count: int) -> dict[str, int | str]:
        """The drawn indices that can be subscripts of a family of this many members."""
        return {index: index for index in sorted(self.indices) if self.indices[index] == count}

    def names(self) -> Iterator[str]:
        """Every name that stands for a value by itself, for telling what is known."""
        yield from self.shapes
        yield from self.constants

    def is_value(self, name: str) -> bool:
        """Whether the name stands for a number, vector or matrix by itself."""
        return name in self.shapes or name in self.constants or name in self.own

    def knows(self, name: str) -> bool:
        """Whether the name stands for a value, a function or an index by itself."""
        return self.is_value(name) or name in self.functions or name in self.indices

    def find_family(self, name: str) -> Family | None:
        """The family of this name, or the one whose members the matrix of this name holds."""
        by_source = {family.source: family for family in self.families.values()}
        return self.families.get(name) or by_source.get(name)

    def members(self) -> Iterator[str]:
        """The names of members by letter, such as ``mu_a``, for telling what is known."""
        for name, family in self.families.items():
            yield from family.list_members(name)

    def list_usable(self) -> list[str]:
        """Every name that a formula may use, for a reader: members first, then values and I."""
        members = [
            each for name, family in self.families.items() for each in family.list_usable(name)
        ]
        return list(dict.fromkeys([*members, *self.names(), IDENTITY]))
