"""Places in an answer's field, and the faults of numbers told there in plain words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grader.domain.shapes import Kind, Shape
from grader.errors import FieldError

_MAX_EXCERPT_LENGTH = 20


@dataclass(frozen=True, slots=True)
class FieldLocation:
    """A place in an answer's field; ``str`` says it in words that count from one."""

    field: str
    shape: Shape
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        has_rows = self.shape.kind is Kind.MATRIX or len(self.path) > 1
        names = ("row", "entry") if has_rows else ("entry",)
        steps = [f"{name} {index + 1}" for name, index in zip(names, self.path, strict=False)]
        return ", ".join([self.field, *steps])

    def at(self, index: int) -> FieldLocation:
        """The place one level further in."""
        return replace(self, path=(*self.path, index))

    def fault(
        self,
        says: str,
        *,
        code: str,
        expected: str = "",
        got: str = "",
        hint: str = "",
        column: int | None = None,
    ) -> FieldError:
        """A fault at this place; ``says`` goes on after the place's own words."""
        return FieldError(
            f"{self} {says}",
            field=self.field,
            code=code,
            path=self.path,
            expected=expected or self.shape.describe(),
            got=got,
            hint=hint,
            column=column,
        )


def format_excerpt(text: str) -> str:
    """The beginning of a foreign text, short and printable, so that a message may repeat it."""
    shown = "".join(sign if sign.isprintable() else "�" for sign in text[:_MAX_EXCERPT_LENGTH])
    return shown + "…" if len(text) > _MAX_EXCERPT_LENGTH else shown


def make_type_error(spot: FieldLocation, got: str) -> FieldError:
    """The fault of what is no number; ``got`` is what it is instead."""
    is_whole = not spot.path and bool(spot.shape.axes)
    expected = spot.shape.describe() if is_whole else "a plain number"
    says = f"{expected} is needed." if is_whole else "write a plain number such as 0.25."
    return spot.fault(f"is {got}; {says}", code="number.type", expected=expected, got=got)


def make_shape_error(spot: FieldLocation, got: str, *, hint: str = "") -> FieldError:
    """The fault of a value of another shape; ``got`` is what it is instead."""
    says = f"is {got}; {spot.shape.describe()} is needed."
    return spot.fault(says, code="answer.shape", got=got, hint=hint)


def make_length_error(spot: FieldLocation, *, code: str, got: int, needed: int) -> FieldError:
    """The fault of a list with too few or too many numbers."""
    says = f"has {format_count(got, 'number')}; {needed} {'is' if needed == 1 else 'are'} needed."
    expected = format_count(needed, "number") if spot.path else spot.shape.describe()
    return spot.fault(says, code=code, expected=expected, got=format_count(got, "number"))


def format_count(number: int, noun: str) -> str:
    """So many of a thing, in words: *1 row*, *2 rows*."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_number(value: object) -> bool:
    """Whether a value is a plain number; true and false are not."""
    is_plain = isinstance(value, int | float | np.integer | np.floating)
    return is_plain and not isinstance(value, bool)


def describe_value(value: object) -> str:
    """What a value is, in the words of JSON where it has them."""
    match value:
        case None:
            return "null"
        case bool() | np.bool_():
            return "true" if value else "false"
        case str():
            return f'the text "{format_excerpt(value)}"'
        case list() | tuple() | np.ndarray():
            return "a list"
        case dict():
            return "an object"
        case _ if is_number(value):
            return "a single number"
        case _:
            return f"of the type {format_excerpt(type(value).__name__)}"
