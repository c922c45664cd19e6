"""Costly requests: each caller has at most two under way, and large bodies take turns.

Python runs one thread at a time, so whoever keeps it busy keeps everybody waiting. What takes
milliseconds to parse and to read is therefore done for one request after the other, with a rest in
between, in which the short requests of all others go on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock

from grader.errors import TooManyRequests

#: Smaller bodies are parsed and read within a few milliseconds, whatever they hold.
LARGE_BODY_BYTES = 16 * 1024

_MOST_UNDER_WAY = 2
_RETRY_SECONDS = 3
#: How many times longer the rest after a turn is than the turn.
_REST = 3.0


class CostlyRequests:
    """The costly requests of a process."""

    def __init__(self) -> None:
        self._under_way = Counter[str]()
        self._changing = Lock()
        self._turn = asyncio.Lock()
        self._rests_until = 0.0

    def begin(self, caller: str) -> None:
        """Note that a costly request begins; whoever begins one ends it.

        Raises
        ------
        TooManyRequests
            Where the caller has as many under way as anybody may have.
        """
        with self._changing:
            if self._under_way[caller] >= _MOST_UNDER_WAY:
                raise TooManyRequests(
                    f"{_MOST_UNDER_WAY} of your requests are still being worked on. "
                    "Wait for one of them, then try again.",
                    retry_after_seconds=_RETRY_SECONDS,
                )
            self._under_way[caller] += 1

    def end(self, caller: str) -> None:
        """Note that a costly request has ended."""
        with self._changing:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]

    def __len__(self) -> int:
        return self._under_way.total()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until it is one's turn, in the order of coming, and have it."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            await asyncio.sleep(max(0.0, self._rests_until - loop.time()))
            began = loop.time()
            try:
                yield
            finally:
                ended = loop.time()
                self._rests_until = ended + _REST * (ended - began)
