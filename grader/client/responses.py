"""JSON of the service → frozen dataclasses; members unknown to this client are ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from grader.client.errors import make_unreadable_error

T = TypeVar("T")


def read_response(read: Callable[[Any], T], data: Any) -> T:
    """Read what the service answered.

    Raises
    ------
    ClientError
        If the data does not have the form of Keyset's answers.
    """
    try:
        return read(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise make_unreadable_error() from None


def from_json(kind: type[T], data: Any) -> T:
    """JSON data as a value of a type: a dataclass by its annotations, a tuple, or a plain value.

    A member of the dataclass that has no default must be in the data.
    """
    value: Any = data
    if is_dataclass(kind):
        hints = _get_hints(kind)
        known = [each.name for each in fields(kind) if each.name in data or each.default is MISSING]
        value = kind(**{name: from_json(hints[name], data[name]) for name in known})
    elif get_origin(kind) is tuple:
        value = tuple(from_json(get_args(kind)[0], each) for each in data)
    elif get_origin(kind) is UnionType:
        # The only unions are of a type and None.
        value = None if data is None else from_json(get_args(kind)[0], data)
    elif kind is datetime:
        value = datetime.fromisoformat(data)
    elif kind is float:
        value = float(data)
    return value  # type: ignore[no-any-return]  # The branches follow the type at run time.


_get_hints = cache(get_type_hints)


def to_arrays(named: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as read-only arrays; plain numbers and indices stay as they are."""
    return {name: _to_array(value) for name, value in named.items()}


def _to_array(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    array = np.array(value)
    array.setflags(write=False)
    return array
