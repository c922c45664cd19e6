"""The desk of commands that judge or count."""

from __future__ import annotations

from grader.grading.context import Desk
from grader.grading.signing import SigningKey


def make_desk() -> Desk:
    """A desk for commands; they sign nothing, so that its key is nobody's."""
    return Desk(SigningKey.generate())
