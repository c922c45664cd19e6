"""Places in an answer's field, and the errors of numbers there, in plain words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grader.domain.shapes import Kind, Shape
from grader.errors import FieldError

_MAX_EXCERPT_LENGTH = 20


@dataclass(frozen=True, slots=True)
class FieldLocation:
    """A place in an answer's field; ``str`` names it, counting from one: *M, row 2, entry 1*."""

    field: str
    shape: Shape
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        has_rows = self.shape.kind is Kind.MATRIX or len(self.path) > 1
        names = ("row", "entry") if has_rows else ("entry",)
        steps = [f"{name} {index + 1}" for name, index in zip(names, self.path, strict=False)]
        return ", ".join([self.field, *steps])

    def at(self, index: int) -> FieldLocation:
        """The place one level deeper."""
        return replace(self, path=(*self.path, index))

    def error(
        self,
        message: str,
        *,
        code: str,
        expected: str = "",
        got: str = "",
        hint: str = "",
        column: int | None = None,
    ) -> FieldError:
        """An error at this place; ``message`` continues the sentence after its name."""
        return FieldError(
            f"{self} {message}",
            field=self.field,
            code=code,
            path=self.path,
            expected=expected or self.shape.describe(),
            got=got,
            hint=hint,
            column=column,
        )


def format_excerpt(text: str) -> str:
    """The beginning of a text, short and printable, so that a message may quote it."""
    shown = "".join(c if c.isprintable() else "�" for c in text[:_MAX_EXCERPT_LENGTH])
    return shown + "…" if len(text) > _MAX_EXCERPT_LENGTH else shown


def make_type_error(location: FieldLocation, got: str) -> FieldError:
    """The error of a value that is not a number; ``got`` says what it is."""
    is_whole = not location.path and bool(location.shape.axes)
    expected = location.shape.describe() if is_whole else "a plain number"
    advice = f"{expected} is needed." if is_whole else "write a plain number such as 0.25."
    return location.error(f"is {got}; {advice}", code="number.type", expected=expected, got=got)


def make_shape_error(location: FieldLocation, got: str, *, hint: str = "") -> FieldError:
    """The error of a value of the wrong shape; ``got`` says what it is."""
    message = f"is {got}; {location.shape.describe()} is needed."
    return location.error(message, code="answer.shape", got=got, hint=hint)


def make_length_error(location: FieldLocation, *, code: str, got: int, needed: int) -> FieldError:
    """The error of a list with too few or too many numbers."""
    sent = format_count(got, "number")
    expected = format_count(needed, "number") if location.path else location.shape.describe()
    message = f"has {sent}; {needed} {'is' if needed == 1 else 'are'} needed."
    return location.error(message, code=code, expected=expected, got=sent)


def format_count(number: int, noun: str) -> str:
    """A number with its noun: *1 row*, *2 rows*."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_number(value: object) -> bool:
    """Whether a value is a plain number; true and false are not."""
    is_plain = isinstance(value, int | float | np.integer | np.floating)
    return is_plain and not isinstance(value, bool)


def describe_value(value: object) -> str:
    """What a value is, in the terms of JSON where possible."""
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
