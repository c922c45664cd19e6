"""The error of a formula at a position in its text."""

from __future__ import annotations

from grader.errors import FormulaError


def make_error(
    message: str, start: int, *, code: str = "formula.shape", hint: str = ""
) -> FormulaError:
    """An error at the position `start`, which counts from zero."""
    return FormulaError(message, column=start + 1, hint=hint, code=code)
