"""How often and how long to retry."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """When to retry and when to give up; tests replace clock, sleep and chance.

    The wait doubles from try to try, with jitter, so that a class whose requests failed together
    does not retry together. A longer `Retry-After` of the service is respected.
    """

    tries: int = 6
    first_wait_seconds: float = 0.5
    most_wait_seconds: float = 15.0
    give_up_seconds: float = 90.0
    """No wait begins that would end later than this after the first try."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError("tries must be at least 1.")

    def wait_seconds(self, tried: int, retry_after: float | None) -> float:
        """How long to wait after `tried` tries."""
        grown = min(self.first_wait_seconds * 2.0 ** (tried - 1), self.most_wait_seconds)
        varied = grown * (0.5 + 0.5 * self.chance())
        return max(varied, retry_after or 0.0)


def read_retry_after(header: str | None, *, date: str | None = None) -> float | None:
    """The seconds that a `Retry-After` header asks for; None if it cannot be parsed.

    A time is compared with the `Date` of the same response, since the local clock may be wrong.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        # More digits would make a number too large to sleep for.
        return float(text[:9])
    try:
        waits = parsedate_to_datetime(text) - parsedate_to_datetime(date or "")
    except (ValueError, TypeError):
        return None
    return max(0.0, waits.total_seconds())
