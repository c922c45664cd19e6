"""Holding back those who call too often, and those whom nobody knows.

Every refusal takes time from everybody. So who has used up a budget is answered some seconds late:
a program that does not wait, on as many connections as it likes, is made to.
Requests without a credential are counted by address, and all of them together pass at a limited
rate, so that a thousand addresses take no more than a small part of the service.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from grader.errors import TooManyRequests, Unavailable
from grader.web.http.rate_limits import RateLimiter
from grader.web.http.turnstile import Turnstile

#: What an invalid credential costs of the budget of its address; it takes a look at the database.
INVALID_CREDENTIAL_COST = 5.0
#: And how late its refusal is sent: whoever has lost a token does not need to know it at once.
INVALID_CREDENTIAL_SECONDS = 1.0
#: Files without which pages cannot be shown; a page has several, and browsers keep them.
_STATIC_PATH, _STATIC_COST = "/static/", 0.1
#: Whoever watches over the service asks from one address, and must not be refused.
_FREE_PATHS = {"/healthz", "/readyz"}
_MOST_SECONDS_IN_LINE = 2.0
_BURST_SECONDS = 1.0
#: The earliest a late refusal is sent, as a share of how late it may be.
_EARLIEST = 0.5

Scope = Any
Header = tuple[bytes, bytes]


def get_address(scope: Scope) -> str:
    """The address that a request comes from."""
    client = scope.get("client")
    return client[0] if client else "unknown"


def draw_delay(retry_after_seconds: float, most_seconds: float) -> float:
    """How late a refusal is sent.

    Those who are refused together would all try again at the same moment if their refusals came
    together.
    """
    return min(retry_after_seconds, most_seconds) * random.uniform(_EARLIEST, 1)


class Throttle:
    """Holds back requests of one process.

    Parameters
    ----------
    refusal_seconds
        How late at most a refusal is sent to somebody who has used up a budget; never later than
        that somebody may try again.
    anonymous_per_second
        How many requests without a credential pass in a second, whoever sends them.
    """

    def __init__(
        self,
        budgets: RateLimiter,
        *,
        refusal_seconds: float = 0.0,
        anonymous_per_second: float = math.inf,
        turnstile: Turnstile | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budgets = budgets
        self._monotonic = monotonic
        self._refusal_seconds = refusal_seconds
        self._anonymous_per_second = anonymous_per_second
        self._turnstile = turnstile or Turnstile()
        self._next_at = 0.0

    async def admit(self, scope: Scope) -> None:
        """Let a request pass; what brings no credential may have to wait.

        Raises
        ------
        TooManyRequests
            Where its address has asked too much.
        Unavailable
            Where too many others wait.
        """
        path = scope["path"]
        if path in _FREE_PATHS or _has_credential(scope):
            return
        cost = _STATIC_COST if path.startswith(_STATIC_PATH) else 1.0
        self._budgets.spend("anonymous", get_address(scope), cost=cost)
        await self._wait_in_line(cost)

    async def _wait_in_line(self, cost: float) -> None:
        now = self._monotonic()
        wait = self._next_at - now - _BURST_SECONDS
        if wait > _MOST_SECONDS_IN_LINE:
            await self._wait_to_refuse(_MOST_SECONDS_IN_LINE)
            raise Unavailable("Too many visitors are waiting just now. Try again.")
        self._next_at = max(now, self._next_at) + cost / self._anonymous_per_second
        if wait > 0:
            await asyncio.sleep(wait)

    async def hold_back(self, scope: Scope, status: int, headers: Iterable[Header]) -> None:
        """Wait before a response, if it refuses somebody who calls too often.

        A credential that nothing has asked for, such as a cookie that comes with a picture, is as
        good as none.
        """
        seconds = _find_retry_seconds(headers) if status == 429 else 0.0
        if status == 401 and _has_credential(scope):
            seconds = INVALID_CREDENTIAL_SECONDS
        is_uncounted = status not in (401, 429)
        if is_uncounted and "caller" not in scope["state"] and _has_credential(scope):
            try:
                self._budgets.spend("anonymous", get_address(scope))
            except TooManyRequests as refused:
                seconds = refused.retry_after_seconds
        if seconds:
            await self._wait_to_refuse(seconds)

    async def _wait_to_refuse(self, seconds: float) -> None:
        if self._refusal_seconds:
            await asyncio.sleep(draw_delay(seconds, self._refusal_seconds))
            # Those who were refused together are answered in turn.
            await self._turnstile.enter()


def _find_retry_seconds(headers: Iterable[Header]) -> float:
    return next((float(value) for name, value in headers if name == b"retry-after"), 0.0)


def _has_credential(scope: Scope) -> bool:
    return any(
        name == b"authorization" or (name == b"cookie" and b"keyset_session" in value)
        for name, value in scope["headers"]
    )
