"""64 answers of one student at once, of which one to five are allowed.

All but the last byte of each request is sent first, on a connection of its own, and then all of the
last bytes, so that the service gets the requests at one moment. Exactly as many must be accepted as
are allowed, numbered without gaps, and all others be refused for that reason. On PostgreSQL the
connections are spread over two processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import uvloop

from bench.load.generators import make_message
from bench.load.students import Student
from bench.torture.connections import Connection, Response
from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store

REQUESTS = 64
MOST_ATTEMPTS = COURSE_ATTEMPTS = 5
TRIALS_PER_STORE = 2500
#: How many students are tried at once, each on connections of their own.
_LANES = 4
#: How long the service is given to read what comes before the last byte.
_SETTLE_SECONDS = 0.01
_REFUSED = b'"attempts.none_left"'


@dataclass(frozen=True, slots=True)
class LimitPlan:
    """How many students send too many answers at once."""

    database: str
    trials: int
    seed: int
    evidence: Path


def run_limit(plan: LimitPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Try the limit, each time with another student."""
    result = CampaignResult("limit", plan.database)
    started, random = time.monotonic(), Random(plan.seed)
    workers = 1 if plan.database == "sqlite" else 2
    for first in range(0, plan.trials, TRIALS_PER_STORE):
        with (
            open_store(
                plan.database, result, evidence=plan.evidence,
                students=min(TRIALS_PER_STORE, plan.trials - first), most_attempts=COURSE_ATTEMPTS,
            ) as store,
            store.run_service(workers=workers) as server,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):  # fmt: skip
            runner.run(_Trials(store, server.port, random, result).run(advance))
    result.trials = result.cycles
    result.seconds = time.monotonic() - started
    return result


@dataclass(slots=True)
class _Trials:
    """The trials of one store."""

    store: TortureStore
    port: int
    random: Random
    result: CampaignResult

    async def run(self, advance: Callable[[int], object]) -> None:
        """Try the limit of every student."""
        waiting = iter(self.store.students)
        await asyncio.gather(*(self._run_lane(waiting, advance) for _ in range(_LANES)))

    async def _run_lane(self, waiting: Iterator[Student], advance: Callable[[int], object]) -> None:
        for student in waiting:
            await self._try(student)
            advance(1)

    async def _try(self, student: Student) -> None:
        allowed = self.random.randint(1, MOST_ATTEMPTS)
        used = MOST_ATTEMPTS - allowed
        await self._use_attempts(student, used)
        messages = [make_message(student.make_request(used + number)) for number in range(REQUESTS)]
        responses = await self._send_at_once(messages)
        accepted = [each for each in responses if self._note(each)]
        self.result.cycles += 1
        self.result.over_limit += max(0, len(accepted) - allowed)
        numbers = sorted(each.decode()["number"] for each in accepted)
        if numbers != list(range(used + 1, MOST_ATTEMPTS + 1)):
            self.result.findings.append(
                f"{allowed} attempts were left, and those numbered {numbers} were accepted"
            )

    async def _send_at_once(self, messages: Sequence[bytes]) -> list[Response]:
        # The service cuts connections that are silent for long, so that they are opened anew.
        connections = [await Connection.open(self.port) for _ in messages]
        try:
            for connection, message in zip(connections, messages, strict=True):
                connection.send(message[:-1])
            await asyncio.sleep(_SETTLE_SECONDS)
            for connection, message in zip(connections, messages, strict=True):
                connection.send(message[-1:])
            return await asyncio.gather(*(each.receive() for each in connections))
        finally:
            for each in connections:
                each.close()

    async def _use_attempts(self, student: Student, count: int) -> None:
        connection = await Connection.open(self.port)
        for number in range(count):
            self._note(await connection.ask(make_message(student.make_request(number))))
        connection.close()

    def _note(self, response: Response) -> bool:
        """Whether an attempt was accepted; what is neither that nor refused is a finding."""
        if response.status == 201:
            self.result.acknowledged += 1
            self.store.note_acknowledged(response.body)
            return True
        if _REFUSED in response.body:
            self.result.counts["refused"] += 1
        else:
            self.result.findings.append(f"status {response.status}: {response.body[:500]!r}")
        return False
