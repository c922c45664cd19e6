"""Threads for what reads the database while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

# More threads only wait for each other, above all on SQLite.
_THREADS = 4

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class ReaderPool:
    """A few threads that take turns; they end with the pool.

    The thread pools of asyncio and anyio do more than is needed here, which takes longer than what
    most calls read.
    """

    def __init__(self, threads: int = _THREADS) -> None:
        self._threads = threads
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._is_started = False
        self._lock = threading.Lock()

    async def run(
        self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Call a function in a thread, and return what it returns or raise what it raises."""
        if not self._is_started:
            self._start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        self._jobs.put(_Job(loop, future, function, arguments))
        return await future

    def _start(self) -> None:
        with self._lock:
            if self._is_started:
                return
            for number in range(self._threads):
                # They know the queue only, so that the pool is deleted when nobody needs it.
                threading.Thread(
                    target=_work, args=(self._jobs,), name=f"reader-{number}", daemon=True
                ).start()
            weakref.finalize(self, _stop, self._jobs, self._threads)
            self._is_started = True


def _stop(jobs: SimpleQueue[_Job | None], threads: int) -> None:
    for _ in range(threads):
        jobs.put(None)


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        _run(job)
        # Nothing of a request is held while the thread waits for the next one.
        del job


def _run(job: _Job) -> None:
    result, error = None, None
    try:
        result = job.function(*job.arguments)
    except BaseException as raised:
        error = raised
    try:
        job.loop.call_soon_threadsafe(_settle, job.future, result, error)
    except RuntimeError:
        # The loop was closed meanwhile, and nobody waits any more.
        return
    finally:
        # The error refers to this frame by its traceback.
        del error


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        # Who waited has given up.
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
