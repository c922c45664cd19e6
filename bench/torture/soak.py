"""A soak: students work for half an hour at half of what the service can take.

A visit is what a student does: open a question, check an answer, send it, look at the attempt. How
many visits the service can take is measured first, in a closed loop; half as many are then begun
each second, whether or not earlier ones have ended. Memory, descriptors and times are compared
between the second quarter and the last one: in the first, caches fill.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import uvloop

from bench.load.generators import make_message, take_percentile
from bench.load.processes import RunningServer, measure_memory
from bench.load.students import PATH, Student
from bench.torture.connections import Connection, Response
from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store

STUDENTS = 500
#: How many slices the soak is watched in.
SLICES = 60
_CONNECTIONS = 32
_MEASURING_SECONDS = 10.0
#: What of the last quarter may exceed the second one, as a factor.
_MOST_GROWTH = {"MiB of memory": 1.05, "ms for 50 %": 1.25, "ms for 99 %": 1.5}
_MORE_DESCRIPTORS = 8
#: What is promised of feedback, in milliseconds, at 200 requests a second and more.
_FEEDBACK = {50: 50, 99: 300}


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """How long to soak, and which part of what the service can take is sent."""

    database: str
    minutes: float
    seed: int
    evidence: Path
    share: float = 0.5
    measuring_seconds: float = _MEASURING_SECONDS


@dataclass(frozen=True, slots=True)
class Slice:
    """What was seen in one slice; times in milliseconds."""

    memory: float
    descriptors: int
    p50: float
    p99: float


def run_soak(plan: SoakPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Let students work for some time, and compare its end with its beginning."""
    result = CampaignResult("soak", plan.database)
    started = time.monotonic()
    with (
        open_store(plan.database, result, evidence=plan.evidence, students=STUDENTS) as store,
        store.run_service(workers=1) as server,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        visits = _Visits(store, server.port, result)
        # The first ones find nothing prepared.
        runner.run(visits.repeat(plan.measuring_seconds / 2))
        most = runner.run(visits.repeat(plan.measuring_seconds))
        rate = plan.share * most
        slices = runner.run(_watch(plan, visits, server, rate, advance))
        result.counts["visits a second at most"] = round(most)
        result.counts["requests a second"] = round(rate * len(_STEPS))
        compare(slices, result)
        _judge_feedback(sorted(visits.feedback), result)
        result.summary = _summarise(plan, result.counts)
    result.cycles = len(slices)
    result.trials = result.acknowledged
    result.seconds = time.monotonic() - started
    return result


async def _watch(
    plan: SoakPlan,
    visits: _Visits,
    server: RunningServer,
    rate: float,
    advance: Callable[[int], object],
) -> list[Slice]:
    """Begin visits at a rate, and look at the server at the end of each slice."""
    seconds = 60 * plan.minutes / SLICES
    working = asyncio.create_task(visits.begin_at(rate, seconds=SLICES * seconds))
    found, loop = list[Slice](), asyncio.get_running_loop()
    started = loop.time()
    visits.feedback.clear()
    for number in range(SLICES):
        visits.times.clear()
        await asyncio.sleep(max(0.0, started + (number + 1) * seconds - loop.time()))
        times = sorted(visits.times)
        processes = server.list_processes()
        found.append(
            Slice(
                measure_memory(processes),
                sum(each.num_fds() for each in processes),
                take_percentile(times, 0.5),
                take_percentile(times, 0.99),
            )
        )
        advance(1)
    await working
    return found


def compare(slices: Sequence[Slice], result: CampaignResult) -> None:
    """Note how the last quarter compares with the second one, and what has grown."""
    quarter = len(slices) // 4
    for name, values in (
        ("MiB of memory", [each.memory for each in slices]),
        ("ms for 50 %", [each.p50 for each in slices]),
        ("ms for 99 %", [each.p99 for each in slices]),
    ):
        second = statistics.median(values[quarter : 2 * quarter])
        last = statistics.median(values[-quarter:])
        result.counts[f"{name} in the second quarter"] = round(second)
        result.counts[f"{name} in the last quarter"] = round(last)
        if last > _MOST_GROWTH[name] * second:
            result.findings.append(f"{name} grew from {second:.1f} to {last:.1f}")
    second_most = max(each.descriptors for each in slices[quarter : 2 * quarter])
    last_most = max(each.descriptors for each in slices[-quarter:])
    result.counts["descriptors in the second quarter"] = second_most
    result.counts["descriptors in the last quarter"] = last_most
    if last_most > second_most + _MORE_DESCRIPTORS:
        result.findings.append(f"descriptors grew from {second_most} to {last_most}")


def _summarise(plan: SoakPlan, counts: Mapping[str, int]) -> str:
    second, last = ("in the second quarter", "in the last quarter")
    return (
        f"{counts['requests a second']:,} requests a second for {plan.minutes:g} minutes; from the "
        f"second quarter to the last: {counts[f'MiB of memory {second}']} to "
        f"{counts[f'MiB of memory {last}']} MiB, {counts[f'descriptors {second}']} to "
        f"{counts[f'descriptors {last}']} descriptors, 99 % of visits within "
        f"{counts[f'ms for 99 % {second}']} to {counts[f'ms for 99 % {last}']} ms; feedback within "
        f"{counts['ms at most until feedback for 50 %']} ms in the median, "
        f"{counts['ms at most until feedback for 99 %']} ms for 99 %"
    )


def _judge_feedback(times: Sequence[float], result: CampaignResult) -> None:
    for share, most in _FEEDBACK.items():
        milliseconds = take_percentile(times, share / 100)
        result.counts[f"ms at most until feedback for {share} %"] = round(milliseconds)
        if milliseconds > most:
            result.findings.append(f"{share} % of feedback took up to {milliseconds:.0f} ms")


_QUESTION = PATH.removesuffix("/attempts")
_STEPS = ("question", "check", "attempt", "look")


@dataclass(slots=True)
class _Visits:
    """Visits of students who take turns.

    Parameters
    ----------
    times, feedback
        Milliseconds of whole visits from when they were due, and of their third step alone.
    """

    store: TortureStore
    port: int
    result: CampaignResult
    times: list[float] = field(default_factory=list)
    feedback: list[float] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    async def repeat(self, seconds: float) -> float:
        """Begin a visit on each connection when the last has ended; returns visits per second."""
        loop = asyncio.get_running_loop()
        before, until = len(self.times), loop.time() + seconds
        await asyncio.gather(
            *(self._work(lambda: None if loop.time() > until else loop.time()) for _ in _PLACES)
        )
        return (len(self.times) - before) / seconds

    async def begin_at(self, rate: float, *, seconds: float) -> None:
        """Begin visits at fixed times, on whatever connection is free."""
        started = asyncio.get_running_loop().time()
        due = (started + number / rate for number in range(round(rate * seconds)))
        await asyncio.gather(*(self._work(lambda: next(due, None)) for _ in _PLACES))

    async def _work(self, find_due: Callable[[], float | None]) -> None:
        """Make visits on one connection, as they are due."""
        connection = await Connection.open(self.port)
        loop = asyncio.get_running_loop()
        while (due := find_due()) is not None:
            await asyncio.sleep(max(0.0, due - loop.time()))
            number, turn = divmod(next(self._numbers), len(self.store.students))
            await self._visit(connection, self.store.students[turn], number)
            self.times.append(1000 * (loop.time() - due))
        connection.close()

    async def _visit(self, connection: Connection, student: Student, number: int) -> None:
        loop = asyncio.get_running_loop()
        request = student.make_request(number)
        self._note(await connection.ask(_get(_QUESTION, student)), 200)
        self._note(await connection.ask(make_message(request, f"{_QUESTION}/check")), 200)
        sent_at = loop.time()
        response = await connection.ask(make_message(request))
        self.feedback.append(1000 * (loop.time() - sent_at))
        if self._note(response, 201):
            self.result.acknowledged += 1
            self.store.note_acknowledged(response.body)
            path = f"/api/v1/attempts/{response.decode()['id']}"
            self._note(await connection.ask(_get(path, student)), 200)

    def _note(self, response: Response, expected: int) -> bool:
        """Note an answer that nobody should get."""
        if response.status != expected:
            self.result.findings.append(f"status {response.status}: {response.body[:300]!r}")
        return response.status == expected


_PLACES = range(_CONNECTIONS)


def _get(path: str, student: Student) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {student.token}\r\n\r\n"
    return head.encode()
