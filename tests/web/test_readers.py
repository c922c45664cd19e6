"""Reader threads: results and errors come back, threads take turns and end with their pool."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from grader.web.readers import ReaderPool


@pytest.fixture
def pool() -> Iterator[ReaderPool]:
    yield ReaderPool(2)
    gc.collect()


def test_a_function_runs_in_another_thread(pool: ReaderPool) -> None:
    def work(number: int) -> tuple[int, bool]:
        return number + 1, threading.current_thread() is threading.main_thread()

    assert asyncio.run(pool.run(work, 1)) == (2, False)


def test_an_error_is_raised_where_the_result_is_awaited(pool: ReaderPool) -> None:
    def refuse() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        asyncio.run(pool.run(refuse))


def test_as_many_run_at_once_as_there_are_threads(pool: ReaderPool) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return number

    async def run_all() -> list[int]:
        return await asyncio.gather(*(pool.run(work, number) for number in range(6)))

    assert asyncio.run(run_all()) == list(range(6))
    assert most == 2


def test_the_loop_goes_on_meanwhile(pool: ReaderPool) -> None:
    is_over = threading.Event()

    async def wait_and_end() -> bool:
        waiting = asyncio.create_task(pool.run(is_over.wait, 5))
        await asyncio.sleep(0)
        is_over.set()
        return await waiting

    assert asyncio.run(wait_and_end())


def test_who_gives_up_disturbs_nobody(pool: ReaderPool) -> None:
    is_over = threading.Event()

    async def give_up_and_go_on() -> int:
        waiting = asyncio.create_task(pool.run(is_over.wait, 5))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        problems: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        is_over.set()
        result = await pool.run(abs, -7)
        await asyncio.sleep(0.01)
        assert problems == []
        return result

    assert asyncio.run(give_up_and_go_on()) == 7


def test_a_closed_loop_does_not_end_the_thread() -> None:
    pool = ReaderPool(1)
    may_end = threading.Event()

    async def leave() -> None:
        asyncio.create_task(pool.run(may_end.wait, 5))  # noqa: RUF006  # it is to be left behind
        await asyncio.sleep(0)

    asyncio.run(leave())
    may_end.set()

    assert asyncio.run(pool.run(abs, -7)) == 7


def test_the_threads_end_with_their_pool() -> None:
    pool = ReaderPool(3)
    before = set(threading.enumerate())
    asyncio.run(pool.run(abs, -7))
    started = set(threading.enumerate()) - before
    assert len(started) == 3

    del pool
    gc.collect()
    for thread in started:
        thread.join(5)

    assert not any(thread.is_alive() for thread in started)
