"""How often one caller may call: a bucket of tokens for each caller and budget, in memory.

Buckets live in one process; several processes give a caller as many budgets. That is enough to keep
one caller from starving the others, which is all they are for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from cachetools import LRUCache

from grader.errors import TooManyRequests

#: All budgets: calls that read, that check answers, that submit them; large bodies, in pieces of
#: 16 KiB; sign-ins by address; and what is asked without being signed in, by address.
BUDGETS = ("read", "check", "submit", "body", "sign_in", "anonymous")

_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A budget: calls per minute, and how many may come at once after a rest."""

    per_minute: float
    burst: int
    per_second: float = field(init=False)

    def __post_init__(self) -> None:
        if self.per_minute <= 0 or self.burst < 1:
            raise ValueError("A budget lets at least one call through.")

        object.__setattr__(self, "per_second", self.per_minute / 60)


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """What is left of a budget after a call."""

    budget: str
    rule: RateLimit
    calls: int
    full_in_seconds: int

    def headers(self) -> dict[str, str]:
        """The rate-limit headers (draft-ietf-httpapi-ratelimit-headers-10)."""
        window = math.ceil(self.rule.burst / self.rule.per_second)
        return {
            "RateLimit-Policy": f'"{self.budget}";q={self.rule.burst};w={window}',
            "RateLimit": f'"{self.budget}";r={self.calls};t={self.full_in_seconds}',
        }


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimiter:
    """The budgets of all callers; safe to use from several threads.

    Parameters
    ----------
    rules
        By the budget's name, one for each of `BUDGETS`.
    monotonic
        A clock in seconds that never goes back.
    most_callers
        How many buckets are remembered; the one that rested longest is forgotten first, and a
        bucket that is forgotten is full again.
    """

    def __init__(
        self,
        rules: Mapping[str, RateLimit],
        monotonic: Callable[[], float],
        *,
        most_callers: int = 50_000,
    ) -> None:
        self._rules = dict(rules)
        self._monotonic = monotonic
        self._buckets: LRUCache[tuple[str, str], _Bucket] = LRUCache(most_callers)
        self._lock = Lock()

    def spend(self, budget: str, caller: str, *, cost: float = 1) -> RateLimitState:
        """Take a call from a caller's budget, which may cost as much as several.

        Raises
        ------
        TooManyRequests
            With the whole seconds after which the call is possible; nothing was taken.
        """
        rule = self._rules[budget]
        # What costs more than there ever is takes all there is.
        cost = min(cost, rule.burst)
        with self._lock:
            bucket = self._bucket(budget, caller, rule)
            if bucket.tokens < cost - _EPSILON:
                missing = (cost - bucket.tokens) / rule.per_second
                raise _exceeded(budget, max(1, math.ceil(missing - _EPSILON)))
            bucket.tokens = max(0.0, bucket.tokens - cost)
            full_in = (rule.burst - bucket.tokens) / rule.per_second
            return RateLimitState(
                budget, rule, int(bucket.tokens + _EPSILON), math.ceil(full_in - _EPSILON)
            )

    def can_spend(self, budget: str, caller: str, *, cost: float = 1) -> bool:
        """Whether a call is possible; nothing is taken."""
        rule = self._rules[budget]
        with self._lock:
            return self._bucket(budget, caller, rule).tokens >= min(cost, rule.burst) - _EPSILON

    def _bucket(self, budget: str, caller: str, rule: RateLimit) -> _Bucket:
        now = self._monotonic()
        key = (budget, caller)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(rule.burst, now)
            return bucket
        rested = max(0.0, now - bucket.filled_at)
        bucket.tokens = min(float(rule.burst), bucket.tokens + rested * rule.per_second)
        bucket.filled_at = max(now, bucket.filled_at)
        return bucket

    def __len__(self) -> int:
        return len(self._buckets)


def _exceeded(budget: str, seconds: int) -> TooManyRequests:
    unit = "second" if seconds == 1 else "seconds"
    return TooManyRequests(
        f"That was too fast for the budget “{budget}”. Try again in {seconds} {unit}.",
        retry_after_seconds=seconds,
    )
