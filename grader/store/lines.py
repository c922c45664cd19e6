"""Rows → frozen lines, and lines → rows."""

from __future__ import annotations

from typing import Any, TypeVar

Line = TypeVar("Line")


def as_line(kind: type[Line], row: Any) -> Line:
    """A row as a line of this kind; the columns come in the order of its fields."""
    return kind(*row)
