"""Budgets that nobody uses up, except where a test says so."""

from __future__ import annotations

import time
from collections.abc import Mapping

from grader.web.http.rate_limits import BUDGETS, RateLimit, RateLimiter
from grader.web.http.throttle import Throttle

PLENTY = RateLimit(per_minute=60_000_000, burst=1_000_000)


def make_budgets(rules: Mapping[str, RateLimit] | None = None) -> RateLimiter:
    return RateLimiter(dict.fromkeys(BUDGETS, PLENTY) | dict(rules or {}), time.monotonic)


def make_throttle() -> Throttle:
    return Throttle(make_budgets())
