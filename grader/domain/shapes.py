"""Shapes of mathematical values: a number, a column, a row, a matrix, a condition.

Shapes are exact. A column of one number is not a number, and nothing is stretched to fit. The one
exception is `OPEN_SQUARE`, which a formula has only while it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What sort of value a shape describes."""

    NUMBER = "number"
    COLUMN = "column"
    ROW = "row"
    MATRIX = "matrix"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True)
class Shape:
    """The exact shape of a value; rows and columns are 1 where the kind has none.

    `axes` are the lengths of the axes of an array of this shape, `size` is its number of entries.
    """

    kind: Kind
    rows: int = 1
    columns: int = 1
    axes: tuple[int, ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        axes = {
            Kind.COLUMN: (self.rows,),
            Kind.ROW: (self.columns,),
            Kind.MATRIX: (self.rows, self.columns),
        }
        object.__setattr__(self, "axes", axes.get(self.kind, ()))
        object.__setattr__(self, "size", self.rows * self.columns)

    def transposed(self) -> Shape:
        """The shape of the transpose; a number is its own transpose."""
        kind = {Kind.COLUMN: Kind.ROW, Kind.ROW: Kind.COLUMN}.get(self.kind, self.kind)
        return Shape(kind, self.columns, self.rows)

    def describe(self) -> str:
        """Say the shape in words, with an article: *a column vector of 16 numbers*."""
        match self.kind:
            case Kind.NUMBER:
                return "a number"
            case Kind.CONDITION:
                return "a condition"
            case Kind.COLUMN:
                return f"a column vector of {self.rows} numbers"
            case Kind.ROW:
                return f"a row vector of {self.columns} numbers"
            case Kind.MATRIX if self == OPEN_SQUARE:
                return "a square matrix"
            case Kind.MATRIX:
                return f"a {self.rows} × {self.columns} matrix"


NUMBER = Shape(Kind.NUMBER)
CONDITION = Shape(Kind.CONDITION)
#: A square matrix whose size is not known yet: an identity matrix that is written without it.
OPEN_SQUARE = Shape(Kind.MATRIX, 0, 0)


def make_column_shape(rows: int) -> Shape:
    """The shape of a column vector."""
    return Shape(Kind.COLUMN, rows, 1)


def make_row_shape(columns: int) -> Shape:
    """The shape of a row vector."""
    return Shape(Kind.ROW, 1, columns)


def make_matrix_shape(rows: int, columns: int) -> Shape:
    """The shape of a matrix."""
    return Shape(Kind.MATRIX, rows, columns)


def make_shape(axes: tuple[int, ...]) -> Shape:
    """The shape an array of these axes has: no axis a number, one a column, two a matrix."""
    match axes:
        case ():
            return NUMBER
        case (rows,):
            return make_column_shape(rows)
        case (rows, columns):
            return make_matrix_shape(rows, columns)
        case _:
            raise ValueError(f"no shape has {len(axes)} axes")
