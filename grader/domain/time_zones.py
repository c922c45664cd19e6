"""The names of time zones."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones


def is_time_zone(name: str) -> bool:
    """Whether there is a time zone of this name."""
    return name in _list_names()


@cache
def _list_names() -> frozenset[str]:
    # To list them takes as long as all else that is done for a rubric's file.
    return frozenset(available_timezones())
