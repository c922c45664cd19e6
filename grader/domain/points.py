"""Points as people write them."""

from __future__ import annotations

import re
from decimal import Decimal

_CENT = Decimal("0.01")
_MAX_DIGITS = 9
# `Decimal` itself also reads NaN, Infinity, exponents of a billion and digits of all scripts.
_WRITTEN_POINTS = re.compile(r"[-+]?(?:[0-9]{1,9}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})")


def read_points(text: str) -> Decimal | None:
    """Points from a text such as `7.5`; None unless it is a number with at most two decimals."""
    if not _WRITTEN_POINTS.fullmatch(text):
        return None
    points = Decimal(text)
    return points if has_whole_cents(points) else None


def has_whole_cents(points: Decimal) -> bool:
    """Whether points are finite and have at most two decimals, as they are stored."""
    # Only a finite number can be compared, and only one of a few digits be quantized.
    is_plain = points.is_finite() and points.adjusted() < _MAX_DIGITS
    return is_plain and points == points.quantize(_CENT)
