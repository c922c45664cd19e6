"""Base of all reports: their model, points as JSON numbers, canonical JSON and hashes."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Annotated, Any

import rfc8785
from pydantic import BaseModel, ConfigDict, PlainSerializer

#: Points have two decimals at most, so that the JSON number is the exact decimal.
Points = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]


class ReportModel(BaseModel):
    """Base of all models that are reported."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def to_canonical_json(data: Any) -> bytes:
    """Plain data as RFC 8785 writes it, so that other programs hash and sign the same bytes."""
    try:
        return rfc8785.dumps(data)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_round_integers(data))


def _round_integers(data: Any) -> Any:
    """Integers as the doubles that JSON numbers are; only large ones change."""
    match data:
        case dict():
            return {name: _round_integers(value) for name, value in data.items()}
        case list() | tuple():
            return [_round_integers(each) for each in data]
        case int() if not isinstance(data, bool):
            return float(data)
        case _:
            return data


def hash_bytes(content: bytes) -> str:
    """A SHA-256 in the form that all hashes of Keyset have."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
