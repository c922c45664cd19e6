"""Opaque identifiers that sort by the time they were made."""

from __future__ import annotations

import secrets
import time

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26


def make_id(kind: str) -> str:
    """A new identifier such as `att_01k9…`: 48 bits of time in milliseconds and 80 random ones.

    Identifiers made later sort later, so that an index grows at its end. They are no secrets.
    """
    number = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_LETTERS[digit])
    return f"{kind}_{''.join(reversed(digits))}"
