"""How long and how often a call is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """When to try again, and when to give up; clock, sleep and chance may be replaced.

    Waiting doubles from try to try, and varies, so that a class whose calls failed together does
    not come back together. The service's own `Retry-After` is waited for where that is longer.
    """

    tries: int = 6
    first_wait_seconds: float = 0.5
    most_wait_seconds: float = 15.0
    give_up_seconds: float = 90.0
    """No waiting begins that would end later than this after the first try."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError("A call is tried once at least.")

    def wait_seconds(self, tried: int, retry_after: float | None) -> float:
        """How long to wait after so many tries."""
        grown = min(self.first_wait_seconds * 2.0 ** (tried - 1), self.most_wait_seconds)
        varied = grown * (0.5 + 0.5 * self.chance())
        return max(varied, retry_after or 0.0)


def read_retry_after(header: str | None, *, date: str | None = None) -> float | None:
    """The seconds that a `Retry-After` asks for; None for nonsense.

    Where it names a time, that is compared with the `Date` of the same answer, since the clock here
    may be wrong.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        # More digits than any wait has would only make a number that cannot be waited for.
        return float(text[:9])
    try:
        waits = parsedate_to_datetime(text) - parsedate_to_datetime(date or "")
    except (ValueError, TypeError):
        return None
    return max(0.0, waits.total_seconds())
