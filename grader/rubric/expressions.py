"""Reading the expressions of a rubric file and collecting its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.domain.shapes import NUMBER, Shape
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.errors import FieldPath, FormulaError, RubricError, RubricErrors
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.formula import read_tree
from grader.formula.typed.scope import (
    IDENTITY,
    MATH_CONSTANTS,
    TRANSPOSE_LETTER,
    Family,
    FormulaScope,
)
from grader.formula.typed.tree import Node, collect_names
from grader.rubric.document import RubricDocument, make_error
from grader.rubric.forms import Quantity, Size


class ExpressionReader:
    """Reads the expressions of one rubric file, in a scope that grows as names are declared.

    Errors are collected rather than raised, so that the author sees all of them. `sampled` holds
    the names whose values change from key set to key set.
    """

    def __init__(self, document: RubricDocument) -> None:
        self.document = document
        self.errors: list[RubricError] = []
        self.scope = FormulaScope(functions=RUBRIC_FUNCTIONS, allows_conditions=True)
        self.sampled: set[str] = set()

    def error(self, path: FieldPath, message: str) -> None:
        """Add an error at a path of the file."""
        self.errors.append(make_error(self.document, path, message))

    def stop_on_errors(self) -> None:
        """Raise the errors so far, before the next step builds on them."""
        if self.errors:
            raise RubricErrors(self.errors)

    def read(
        self,
        text: Quantity,
        path: FieldPath,
        shape: Shape | None = None,
        scope: FormulaScope | None = None,
    ) -> Node | None:
        """Read an expression; None, with an error added, if it cannot be read."""
        try:
            node = read_tree(str(text), scope or self.scope, shape=shape)
        except FormulaError as error:
            self.error(path, f"{error} (column {error.column} of the formula)")
            return None
        if shape is not None and node.shape != shape:
            self.error(path, f"this must be {shape.describe()}, but it is {node.shape.describe()}")
            return None
        return node

    def size(self, size: Size, path: FieldPath) -> int:
        """Compute a size; 1, with an error added, if it is not one."""
        if isinstance(size, int):
            return size
        node = self.read(size, path, NUMBER)
        if node is None:
            return 1
        if collect_names(node):
            self.error(path, "a size cannot depend on values that are drawn")
            return 1
        value = float(evaluate_finite(node, Environment.empty())[0, 0])
        if value != int(value) or not 1 <= value <= 1024:
            self.error(path, f"a size is a whole number from 1 to 1024, but this is {value:g}")
            return 1
        return int(value)

    def check_name(self, name: str, path: FieldPath, shape: Shape | None = None) -> None:
        """Refuse a name that the language reserves; `shape` is what it stands for, if a value."""
        problem = ""
        if name in RUBRIC_FUNCTIONS:
            problem = f"{name} is a function of the formula language"
        elif name == IDENTITY:
            problem = f"{name} is the identity matrix"
        elif name in MATH_CONSTANTS:
            problem = f"{name} is a number of mathematics"
        elif name == TRANSPOSE_LETTER and shape == NUMBER:
            problem = f"{name} cannot be a number, because x^{name} is the transpose of x; "
            problem += "it may be a matrix"
        if problem:
            self.error(path, f"{problem}; choose another name")

    def add_constant(self, name: str, value: float, path: FieldPath) -> None:
        """Declare a number that is known without drawing anything."""
        self.check_name(name, path, NUMBER)
        self.scope = replace(self.scope, constants={**self.scope.constants, name: value})

    def add_family(self, name: str, family: Family) -> None:
        """Declare a family, or replace the one with this name."""
        self.scope = replace(self.scope, families={**self.scope.families, name: family})

    def add_shapes(self, shapes: Mapping[str, Shape], path: FieldPath) -> None:
        """Declare names, each once."""
        for name, shape in shapes.items():
            self.check_name(name, path, shape)
            if name in self.scope.shapes or name in self.scope.constants:
                self.error(path, f"{name} already has a meaning")
        self.scope = self.scope.with_shapes(shapes)

    def axes(self, sizes: tuple[Size, ...], path: FieldPath) -> tuple[int, ...]:
        """Several sizes."""
        return tuple(self.size(size, (*path, place)) for place, size in enumerate(sizes))
