"""What the service answers → frozen values; members that are new to this client do no harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from grader.client.errors import make_unreadable_error

Read = TypeVar("Read")


def read_response(read: Callable[[Any], Read], data: Any) -> Read:
    """Read what the service answered.

    Raises
    ------
    ClientError
        Where it is not of the form that Keyset answers in.
    """
    try:
        return read(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise make_unreadable_error() from None


def parse_time(text: str | None) -> datetime | None:
    """A moment; None where there is none."""
    return None if text is None else datetime.fromisoformat(text)


def parse_points(number: float | None) -> float | None:
    """Points; None where there are none, or where they are withheld."""
    return None if number is None else float(number)


def to_arrays(named: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as arrays that nobody can change by mistake; plain numbers and indices as they are."""
    return {name: _to_array(value) for name, value in named.items()}


def _to_array(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    array = np.array(value)
    array.setflags(write=False)
    return array


def format_time(moment: datetime | None) -> str:
    """A moment in the time zone of this machine, with its offset; empty where there is none."""
    if moment is None:
        return ""
    local = moment.astimezone()
    offset = local.strftime("%z")
    return f"{local:%Y-%m-%d %H:%M:%S} (UTC{offset[:3]}:{offset[3:5]})"
