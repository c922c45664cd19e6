"""The error of a formula, at a stretch of its text."""

from __future__ import annotations

from grader.errors import FormulaError
from grader.formula.typed.tree import Span


def make_error(
    message: str, span: Span, *, code: str = "formula.shape", hint: str = ""
) -> FormulaError:
    """An error that points at `span`."""
    return FormulaError(
        message, column=span.start + 1, length=span.end - span.start, hint=hint, code=code
    )
