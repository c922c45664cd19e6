"""`make load`: attempts per second, times and costs, each beside the barest durable endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.table import Table

from bench.load.databases import LoadDatabase, open_load_database
from bench.load.generators import find_wrk, take_percentile
from bench.load.growth import GROWTHS, measure_growth
from bench.load.processes import RunningServer
from bench.load.rounds import (
    Cost,
    Requests,
    combine_costs,
    count_stored,
    measure_closed_loop,
    measure_open_loop,
    run_server,
)
from bench.load.students import Course, Student, open_course
from grader.cli.console import console

#: Which databases are served by how many processes.
_SETUPS = (("sqlite", 1), ("postgresql", 1), ("postgresql", 2))
#: Rates of the open loop, as shares of what the closed loop reached. Its generator takes more of
#: the machine, so that what it gets at double the rate compares with what it gets at the single.
_SHARES = (0.5, 0.8, 1.0, 2.0)
#: How often the barest endpoint and the service take turns in a round.
_TURNS = 4
#: More requests per second than the service answers, which must not run out of students.
_MOST_PER_SECOND = 2000
#: How many of each student the barest endpoint is sent, which answers more and knows no students.
_BAREST_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how often to measure, and what is sent."""

    seconds: int
    rounds: int
    connections: int
    with_layers: bool
    is_right: bool


def run_load(
    seconds: Annotated[int, typer.Option(min=1, help="How long each measurement lasts.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is measured.")] = 3,
    connections: Annotated[int, typer.Option(min=1, help="Connections of the closed loop.")] = 128,
    database: Annotated[str, typer.Option(help="Only this one: sqlite or postgresql.")] = "",
    profile: Annotated[bool, typer.Option(help="Also say where the time goes.")] = True,
    growth: Annotated[
        bool, typer.Option(help="Compare small courses with large ones instead; takes minutes.")
    ] = False,
    wrong: Annotated[bool, typer.Option(help="Send answers that are too short.")] = False,
) -> None:
    """Send answers of different students by HTTP, none of them twice.

    Everything runs on this machine and shares its cores. The barest endpoint and the service are
    both up and take turns of a few seconds, so that a slow moment affects both alike.
    """
    find_wrk()
    plan = Plan(seconds, rounds, connections, profile, not wrong)
    setups = [each for each in _SETUPS if database in ("", each[0])]
    for kind in dict.fromkeys(kind for kind, _ in setups):
        if growth:
            _print_growth(kind, plan)
            continue
        with open_load_database(kind) as opened:
            store = opened.open()
            course = open_course(store)
            for workers in [each for name, each in setups if name == kind]:
                label = f"{kind}, {workers} process{'es' if workers > 1 else ''}"
                _measure_setup(opened, course, label, workers, plan)
            store.close()


def _measure_setup(
    database: LoadDatabase, course: Course, label: str, workers: int, plan: Plan
) -> None:
    table = _make_table(
        f"{label}: closed loop, {plan.connections} connections",
        "round", "", "per second", "p50 ms", "p99 ms", "p99/p50", "CPU ms", "database", "generator",
        "MiB", "to the barest",
    )  # fmt: skip
    stored = count_stored(database)
    answered, best, layers = 0, 0.0, dict[str, float]()
    for turn in range(plan.rounds):
        students = course.enrol(_MOST_PER_SECOND * plan.seconds)
        with _Round(database, students, workers, plan) as round_:
            costs = round_.measure()
            if plan.with_layers and turn == plan.rounds - 1:
                layers = round_.sample_layers()
        _add_costs(table, turn + 1, costs)
        best = max(best, costs["service"].load.per_second)
        answered += costs["service"].load.accepted
    console.print(table)
    stored = count_stored(database) - stored
    console.print(f"{answered} were acknowledged, {stored} with what else was sent are stored.")
    for layer, share in layers.items():
        console.print(f"{100 * share:6.1f} %  {layer}")
    _measure_rates(database, course, label, workers, best, plan)


class _Round:
    """The barest endpoint and the service, both up, which take turns."""

    def __init__(
        self, database: LoadDatabase, students: Sequence[Student], workers: int, plan: Plan
    ) -> None:
        self._database = database
        self._students = students
        self._plan = plan
        self._workers = workers
        self._stack = ExitStack()
        self._servers: dict[str, tuple[RunningServer, Requests]] = {}

    def __enter__(self) -> _Round:
        for name in ("barest", "service"):
            repeats = _BAREST_REPEATS if name == "barest" else 1
            requests = Requests(self._students, repeats=repeats, is_right=self._plan.is_right)
            running = run_server(self._database, name, workers=self._workers, requests=requests)
            self._servers[name] = self._stack.enter_context(running), requests
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def measure(self) -> dict[str, Cost]:
        """What the turns of each cost together."""
        seconds = max(1, self._plan.seconds // _TURNS)
        turns: dict[str, list[Cost]] = {name: [] for name in self._servers}
        for _ in range(max(1, self._plan.seconds // seconds)):
            for name, (server, requests) in self._servers.items():
                turns[name].append(
                    measure_closed_loop(
                        server,
                        self._database,
                        requests,
                        connections=self._plan.connections,
                        seconds=seconds,
                        most=requests.repeats * _MOST_PER_SECOND * seconds,
                    )
                )
        return {name: combine_costs(costs) for name, costs in turns.items()}

    def sample_layers(self) -> dict[str, float]:
        """Where the time of the service goes."""
        server, _ = self._servers["service"]
        more = Requests(self._students, number=1, is_right=self._plan.is_right)
        return measure_closed_loop(
            server, self._database, more, connections=self._plan.connections,
            seconds=self._plan.seconds, most=len(self._students), with_layers=True,
        ).layers  # fmt: skip


def _add_costs(table: Table, turn: int, costs: dict[str, Cost]) -> None:
    barest = costs["barest"].load.per_second
    for name, cost in costs.items():
        load = cost.load
        table.add_row(
            str(turn), name, f"{load.per_second:.0f}", f"{load.p50:.1f}", f"{load.p99:.1f}",
            f"{load.p99 / load.p50:.1f}", f"{cost.server_milliseconds:.2f}",
            f"{cost.database_milliseconds:.2f}", f"{cost.generator_milliseconds:.2f}",
            f"{cost.memory_mebibytes:.0f}",
            "" if name == "barest" else f"{load.per_second / barest:.2f}",
        )  # fmt: skip
        if cost.is_exhausted:
            table.add_row("", "", f"[red]ran out of requests after {load.seconds:.1f} s[/]")
        if load.failed or load.accepted < load.answered:
            refused = load.answered - load.accepted
            table.add_row("", "", f"[red]{refused} refused, {load.failed} failed[/]")


def _measure_rates(
    database: LoadDatabase, course: Course, label: str, workers: int, best: float, plan: Plan
) -> None:
    table = _make_table(
        f"{label}: open loop", "sent per second", "accepted per second", "503", "other",
        "p50 ms", "p99 ms", "503: p99 ms", "without Retry-After",
    )  # fmt: skip
    for share in _SHARES:
        rate = share * best
        students = course.enrol(int(rate * plan.seconds) + 500)
        requests = Requests(students, is_right=plan.is_right)
        with run_server(database, "service", workers=workers, requests=requests) as server:
            result = measure_open_loop(server, requests, rate=rate, seconds=plan.seconds)
        counts = result.counts
        others = len(result.answers) - counts[201] - counts[503] + result.failed
        times, refused = result.list_times(201), result.list_times(503)
        table.add_row(
            f"{rate:.0f}", f"{result.compute_rate(201):.0f}", str(counts[503]), str(others),
            f"{take_percentile(times, 0.5):.1f}", f"{take_percentile(times, 0.99):.1f}",
            f"{take_percentile(refused, 0.99):.1f}", str(result.lacks_retry_after),
        )  # fmt: skip
    console.print(table)


def _print_growth(kind: str, plan: Plan) -> None:
    table = _make_table(f"{kind}: CPU ms of one attempt", "", "before", "after", "ratio")
    for each in GROWTHS:
        for before, after in measure_growth(kind, each, rounds=plan.rounds):
            table.add_row(each.what, f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}")
    console.print(table)


def _make_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 and not column else "right")
    return table


typer.run(run_load)
