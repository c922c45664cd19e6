"""What everything that is reported shares: its base, points as numbers, one way to write JSON."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer


def _to_number(points: Decimal) -> int | float:
    return int(points) if points == points.to_integral_value() else float(points)


#: Points have two decimals at most, so that the JSON number is the exact decimal.
Points = Annotated[Decimal, PlainSerializer(_to_number, return_type=float, when_used="json")]


class ReportModel(BaseModel):
    """Base of what is reported."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def to_canonical_json(data: Any) -> bytes:
    """The one way to write plain data: sorted keys, no spaces, UTF-8, 8 rather than 8.0.

    For data without long numbers this is RFC 8785, so that other programs write the same bytes.
    """
    text = json.dumps(
        _to_plain_numbers(data),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def _to_plain_numbers(data: Any) -> Any:
    match data:
        case dict():
            return {name: _to_plain_numbers(value) for name, value in data.items()}
        case list() | tuple():
            return [_to_plain_numbers(each) for each in data]
        case float() if data.is_integer():
            return int(data)
        case _:
            return data


def hash_bytes(content: bytes) -> str:
    """A SHA-256 in the form that all hashes of Keyset have."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
