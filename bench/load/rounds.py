"""Rounds of load: the barest endpoint and the service in turns, and what each cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from statistics import median

from sqlalchemy import text

from bench.load.databases import LoadDatabase
from bench.load.generators import LoadResult, OpenLoopResult, run_closed_loop, run_open_loop
from bench.load.layers import record_layers
from bench.load.processes import (
    RunningServer,
    measure_memory,
    measure_processes,
    run_barest,
    run_service,
)
from bench.load.students import Student, write_requests

_WARM_UP = 400
_MOST_REPEATS = 100
_WARM_UP_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """What a closed loop saw, and what it cost: processor time per request in milliseconds."""

    load: LoadResult
    server_milliseconds: float
    database_milliseconds: float
    generator_milliseconds: float
    memory_mebibytes: float
    is_exhausted: bool
    """Whether all requests were sent before the time was over, which ended the loop."""
    layers: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Requests:
    """The answers of students, `repeats` of each in turn, each handed out once."""

    students: Sequence[Student]
    number: int = 0
    repeats: int = 1
    is_right: bool = True
    _next: Iterator[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._next = (
            self.make(student, self.number * _MOST_REPEATS + turn)
            for turn in range(self.repeats)
            for student in self.students
        )

    def make(self, student: Student, number: int) -> bytes:
        """An answer of a student, other than all before."""
        return student.make_request(number, is_right=self.is_right)

    def take(self, count: int) -> list[bytes]:
        """The next requests; fewer where there are no more."""
        return list(islice(self._next, count))


@contextmanager
def run_server(
    database: LoadDatabase, name: str, *, workers: int, requests: Requests, warm_up: int = _WARM_UP
) -> Iterator[RunningServer]:
    """Run the service, or the barest endpoint, and send it a few requests before all others."""
    started = (
        run_service(database.url, workers=workers, folder=database.folder)
        if name == "service"
        else run_barest(database.barest_url, workers=workers, folder=database.folder)
    )
    with started as server:
        first = requests.take(warm_up)
        path = write_requests(database.folder / "warm-up", first)
        run_closed_loop(server.url, path, connections=min(len(first), _WARM_UP_CONNECTIONS))
        database.update_statistics()
        yield server


def measure_closed_loop(
    server: RunningServer,
    database: LoadDatabase,
    requests: Requests,
    *,
    connections: int,
    seconds: int,
    most: int,
    with_layers: bool = False,
) -> Cost:
    """Send from many connections, and measure what it costs."""
    sent = requests.take(most)
    path = write_requests(database.folder / "requests", sent)
    own, others = server.list_processes(), database.list_processes()
    before = measure_processes(own), measure_processes(others)
    layers: dict[str, float] = {}
    sampler = threading.Thread(target=lambda: layers.update(_sample(server, seconds)))
    if with_layers:
        sampler.start()
    load = run_closed_loop(server.url, path, connections=connections, seconds=seconds)
    # What was under way at the end was done as well, though nobody waited for it.
    done = load.answered + connections / 2
    after = measure_processes(own), measure_processes(database.list_processes())
    if with_layers:
        sampler.join()
    return Cost(
        load,
        server_milliseconds=1000 * (after[0] - before[0]) / done,
        database_milliseconds=1000 * (after[1] - before[1]) / done,
        generator_milliseconds=1000 * load.generator_seconds / done,
        memory_mebibytes=measure_memory(own),
        is_exhausted=load.answered + connections >= len(sent),
        layers=layers,
    )


def combine_costs(costs: Sequence[Cost]) -> Cost:
    """Several closed loops as one: their sums, with the medians of the times that answers took."""
    loads = [each.load for each in costs]
    answered = sum(each.answered for each in loads)

    def weigh(get: Callable[[Cost], float]) -> float:
        return sum(get(each) * each.load.answered for each in costs) / max(1, answered)

    return Cost(
        LoadResult(
            answered=answered,
            accepted=sum(each.accepted for each in loads),
            failed=sum(each.failed for each in loads),
            seconds=sum(each.seconds for each in loads),
            p50=median(each.p50 for each in loads),
            p99=median(each.p99 for each in loads),
            most=max(each.most for each in loads),
        ),
        server_milliseconds=weigh(lambda each: each.server_milliseconds),
        database_milliseconds=weigh(lambda each: each.database_milliseconds),
        generator_milliseconds=weigh(lambda each: each.generator_milliseconds),
        memory_mebibytes=max(each.memory_mebibytes for each in costs),
        is_exhausted=any(each.is_exhausted for each in costs),
    )


def _sample(server: RunningServer, seconds: int) -> dict[str, float]:
    return record_layers(server.find_busiest().pid, seconds=max(1, seconds - 1))


def measure_open_loop(
    server: RunningServer, requests: Requests, *, rate: float, seconds: int
) -> OpenLoopResult:
    """Send at a fixed rate."""
    sent = requests.take(int(rate * seconds))
    return run_open_loop(server.port, sent, rate=rate)


def count_stored(database: LoadDatabase) -> int:
    """How many attempts the service has stored."""
    opened = database.open()
    with opened.read() as session:
        found = session.execute(text("SELECT count(*) FROM attempts")).scalar_one()
    opened.close()
    return int(found)
