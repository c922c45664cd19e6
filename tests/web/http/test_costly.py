"""Costly requests: two of each caller, and turns with rests in between."""

from __future__ import annotations

import asyncio

import pytest

from grader.errors import TooManyRequests
from grader.web.http.costly import CostlyRequests


def test_each_caller_may_have_two_under_way() -> None:
    costly = CostlyRequests()
    for caller in ("ada", "ada", "bob"):
        costly.begin(caller)

    with pytest.raises(TooManyRequests) as refused:
        costly.begin("ada")
    costly.begin("bob")
    costly.end("ada")
    costly.begin("ada")

    assert refused.value.retry_after_seconds == 3
    assert len(costly) == 4


def test_nothing_is_remembered_of_what_has_ended() -> None:
    costly = CostlyRequests()
    for number in range(100):
        costly.begin(f"caller {number}")
        costly.end(f"caller {number}")

    assert len(costly) == 0
    assert not costly._under_way


def test_turns_are_taken_one_after_the_other_in_order_also_after_a_failure() -> None:
    costly, log = CostlyRequests(), list[str]()

    async def work(name: str) -> None:
        async with costly.turn():
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            log.append(f"{name} ends")
            if name == "b":
                raise ValueError

    async def run() -> None:
        await asyncio.gather(*(work(name) for name in "abc"), return_exceptions=True)

    asyncio.run(run())

    assert log == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


def test_the_next_turn_begins_after_a_rest_of_three_times_the_length_of_the_last() -> None:
    costly, began, ended = CostlyRequests(), list[float](), list[float]()

    async def work() -> None:
        loop = asyncio.get_running_loop()
        async with costly.turn():
            began.append(loop.time())
            await asyncio.sleep(0.02)
            ended.append(loop.time())

    async def run() -> None:
        await asyncio.gather(work(), work())

    asyncio.run(run())

    assert began[1] - ended[0] >= 2.9 * (ended[0] - began[0])
