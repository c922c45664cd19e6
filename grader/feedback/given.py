"""What a student is given, by name, in full precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.engine.random.variants import Variant
from grader.formula.typed.scope import FormulaScope


def build_given_values(
    scope: FormulaScope, variant: Variant, names: Sequence[str]
) -> dict[str, Any]:
    """The given numbers, indices and arrays as plain data; indices count from zero."""
    return {name: _value(scope, variant, name) for name in names}


def _value(scope: FormulaScope, variant: Variant, name: str) -> Any:
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
    place = int(label) - 1 if position is None else position
    members = variant.values[family.source]
    return (members[:, place] if family.by_columns else members[place]).tolist()
