"""Long lists of values, in portions that fit into one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Value = TypeVar("Value")

# Databases bound how many values one statement takes.
_AT_ONCE = 500


def portions(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """The values in order, so many at a time; none where there are none."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
