"""How to write an answer: the names that a formula may use, and an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from grader.domain.shapes import Kind, Shape
from grader.formula.typed.scope import FormulaScope
from grader.reading.fields import (
    ArrayField,
    ChoiceField,
    ExternalField,
    Field,
    FileField,
    NumberField,
    TextField,
)

# Longer lists are hard to read; a formula is shown instead.
_MAX_NUMBERS = 4


def list_symbols(field: Field) -> list[str]:
    """The names that a formula for this field may use, the most important first."""
    if not isinstance(field, ArrayField | NumberField):
        return []
    return field.scope.list_usable()


def make_example(fields: Sequence[Field]) -> dict[str, object]:
    """A well-formed answer, most likely wrong, that shows how to write one."""
    return {field.name: _make_value(field) for field in fields}


def _make_value(field: Field) -> object:
    match field:
        case ArrayField():
            return _make_formula(field.scope, field.shape) or _make_numbers(field.shape)
        case NumberField():
            return 0.5
        case ChoiceField():
            return [field.options[0]] if field.several else field.options[0]
        case TextField():
            return "Because …"
        case FileField():
            return "sha256:" + 64 * "0"
        case ExternalField():
            return 0
        case _:
            assert_never(field)


def _make_formula(scope: FormulaScope, shape: Shape) -> str:
    """A formula of this shape in given names; empty for small shapes or without such names."""
    if shape.size <= _MAX_NUMBERS:
        return ""
    if shape.kind is Kind.MATRIX and shape.rows == shape.columns:
        return "C I where C = 3"
    terms = [
        f"{name}_{label}"
        for name, family in scope.families.items()
        if family.member_shape == shape
        for label in family.labels
    ]
    if not terms:
        return ""
    return f"2 {terms[0]} - {terms[1]}" if len(terms) > 1 else f"C {terms[0]} where C = 3"


def _make_numbers(shape: Shape) -> list[object]:
    if shape.kind is Kind.MATRIX:
        return [[0] * shape.columns for _ in range(shape.rows)]
    return list(range(shape.size))
