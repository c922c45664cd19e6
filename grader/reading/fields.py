"""The typed fields of an answer, and what may be sent for each."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from grader.domain.shapes import Shape
from grader.formula.typed.scope import FormulaScope


@dataclass(frozen=True, slots=True)
class ArrayField:
    """A vector or a matrix, as numbers or as a formula."""

    name: str
    shape: Shape
    scope: FormulaScope


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number, or a formula that gives one; beyond the bounds no number is possible."""

    name: str
    scope: FormulaScope
    lowest: float | None = None
    highest: float | None = None

    def describe_range(self) -> str:
        """The possible numbers in words; empty where all are."""
        match self.lowest, self.highest:
            case None, None:
                return ""
            case low, None:
                return f"of at least {low:g}"
            case None, high:
                return f"of at most {high:g}"
            case low, high:
                return f"from {low:g} to {high:g}"


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One option of a list, or several."""

    name: str
    options: tuple[str, ...]
    several: bool = False


@dataclass(frozen=True, slots=True)
class TextField:
    """Written text, Markdown with TeX; may be sent later."""

    name: str
    max_characters: int = 20_000


@dataclass(frozen=True, slots=True)
class FileField:
    """One PDF; may be sent later. The answer holds its digest, not its content."""

    name: str


@dataclass(frozen=True, slots=True)
class ExternalField:
    """A score that is awarded outside Keyset."""

    name: str
    max_points: Decimal


Field = ArrayField | NumberField | ChoiceField | TextField | FileField | ExternalField


def describe_field(field: Field) -> str:
    """What a field accepts, in words."""
    match field:
        case ArrayField():
            return f"{field.shape.describe()}, as numbers or as a formula"
        case NumberField():
            possible = field.describe_range()
            return f"a number{' ' * bool(possible)}{possible}, or a formula that gives one"
        case ChoiceField():
            kind = "some" if field.several else "one"
            return f"{kind} of: {', '.join(field.options)}"
        case TextField():
            return "text (Markdown with TeX); may be sent later"
        case FileField():
            return "one PDF; may be sent later"
        case ExternalField():
            return f"points from 0 to {field.max_points}, awarded outside Keyset"
        case _:
            assert_never(field)
