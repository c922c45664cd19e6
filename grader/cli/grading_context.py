"""The desk of commands that judge or count."""

from __future__ import annotations

from grader.grading.context import GradingContext
from grader.grading.signing import SigningKey


def make_grading_context() -> GradingContext:
    """A desk for commands; they sign nothing, so that its key is nobody's."""
    return GradingContext(SigningKey.generate())
