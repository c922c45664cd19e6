"""Threads in which passwords are hashed: few, because each hash takes 64 MiB and a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

from grader.errors import Unavailable

#: Maximum hashes at once in a process.
MAX_HASHES = 2
#: Maximum hashes that wait, which takes a second or two.
MAX_WAITING = 20

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class HashingQueue:
    """Runs slow functions in a few threads, and refuses what would wait too long."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_HASHES, "hashing")
        self._under_way = 0
        self._changing = threading.Lock()

    def refuse_crowd(self) -> None:
        """Refuse a caller for whom there is no room now.

        Raises
        ------
        Unavailable
            If too many are waiting.
        """
        if self._under_way >= MAX_HASHES + MAX_WAITING:
            raise Unavailable("Too many people are signing in just now. Try again in a moment.")

    async def run(
        self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Call a function in one of the threads; Unavailable if too many are waiting."""
        with self._changing:
            self.refuse_crowd()
            self._under_way += 1
        future = self._threads.submit(function, *arguments)
        # A caller who has left no longer waits, but the thread works on.
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _leave(self, _: Future[Any]) -> None:
        with self._changing:
            self._under_way -= 1
