"""The given values of a student's variant, in full precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.engine.random.variants import Variant
from grader.formula.typed.scope import FormulaScope


def build_given_values(
    scope: FormulaScope, variant: Variant, names: Sequence[str]
) -> dict[str, Any]:
    """The given numbers, indices and arrays by name, as JSON data; indices count from zero."""
    return {name: _get_value(scope, variant, name) for name in names}


def _get_value(scope: FormulaScope, variant: Variant, name: str) -> Any:
    if name in variant.values:
        return variant.values[name].tolist()
    if name in variant.indices:
        return variant.indices[name]
    if name in scope.constants:
        number = scope.constants[name]
        return int(number) if number == int(number) else number
    base, _, label = name.rpartition("_")
    family = scope.families[base]
    position = family.labels.get(label)
    if isinstance(position, str):
        position = variant.indices[position]
    index = int(label) - 1 if position is None else position
    members = variant.values[family.source]
    return (members[:, index] if family.by_columns else members[index]).tolist()
