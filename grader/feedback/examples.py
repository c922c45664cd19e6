"""How an answer to a question is written: the names it may use, and an example of the form."""

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

# Longer lists of numbers are hard to read, and a formula shows the form as well.
_MAX_NUMBERS = 4


def list_symbols(field: ArrayField) -> list[str]:
    """The names that a formula for this field may use, those that matter most first."""
    scope = field.scope
    letters = [
        f"{name}_{label}" for name, family in scope.families.items() for label in family.labels
    ]
    numbered = [
        f"{name}_1 … {name}_{family.count}"
        for name, family in scope.families.items()
        if family.numbered
    ]
    return list(dict.fromkeys([*letters, *numbered, *scope.names(), "I"]))


def make_example(fields: Sequence[Field]) -> dict[str, object]:
    """An answer that can be read and that is hardly right, to show the form."""
    return {field.name: _value(field) for field in fields}


def _value(field: Field) -> object:
    match field:
        case ArrayField():
            return _formula(field.scope, field.shape) or _numbers(field.shape)
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


def _formula(scope: FormulaScope, shape: Shape) -> str:
    """A formula of this shape in names that are given; empty where there is none."""
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


def _numbers(shape: Shape) -> list[object]:
    if shape.kind is Kind.MATRIX:
        return [[0] * shape.columns for _ in range(shape.rows)]
    return list(range(shape.size))
