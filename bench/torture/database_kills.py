"""`kill -9` of PostgreSQL's own processes, while the service goes on.

In turns the first process of the server is killed, which ends all others and is started again by
whoever runs it, or one that serves a connection, after which the server restarts by itself. The
service must answer 503 meanwhile, and accept answers again soon, without being started anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psutil

from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store
from bench.torture.traffic import Sender, Traffic
from tests.support import postgresql

STUDENTS = 640
_SENDERS = 16
_WORKERS = 2
_MOST_BEFORE = 60
_OUTAGE_SECONDS = 1.0
#: Within how many seconds the service must accept answers again.
RECOVERY_SECONDS = 5.0
_MAX_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DatabaseKillPlan:
    """How often to kill processes of the database."""

    cycles: int
    seed: int
    evidence: Path
    recovery_seconds: float = RECOVERY_SECONDS


def run_database_kills(
    plan: DatabaseKillPlan, *, advance: Callable[[int], object]
) -> CampaignResult:
    """Kill processes of the database, whose server is one of our own."""
    result = CampaignResult("database kills", "postgresql")
    started, random = time.monotonic(), Random(plan.seed)
    with (
        open_store("postgresql", result, evidence=plan.evidence, students=STUDENTS) as store,
        store.run_service(workers=_WORKERS) as server,
    ):
        senders = [Sender(store.students[number::_SENDERS]) for number in range(_SENDERS)]
        traffic = Traffic(store, senders, server.port, random)

        def kill_all(traffic: Traffic) -> None:
            try:
                for number in range(plan.cycles):
                    _run_cycle(plan, store, traffic, random, is_first=number % 2 == 0)
                    result.cycles += 1
                    advance(1)
            finally:
                traffic.stop()

        asyncio.run(traffic.run(kill_all))
        result.acknowledged += traffic.acknowledged
        result.findings += traffic.findings
        result.findings += traffic.lost
        result.counts += traffic.counts
    result.trials = result.acknowledged
    result.seconds = time.monotonic() - started
    return result


def _run_cycle(
    plan: DatabaseKillPlan, store: TortureStore, traffic: Traffic, random: Random, *, is_first: bool
) -> None:
    """Kill one process, and wait until answers are accepted again."""
    server = store.database.server
    assert server is not None, "it is PostgreSQL"
    traffic.wait_for(traffic.acknowledged + random.randint(1, _MOST_BEFORE))
    if is_first:
        traffic.counts["first processes killed"] += 1
        server.kill()
        time.sleep(random.uniform(0, _OUTAGE_SECONDS))
        server.start()
    else:
        traffic.counts["connections killed"] += 1
        _kill_connection(server, random)
    # Each connection of the service may have one answer that was under way before.
    before, started = traffic.acknowledged, time.monotonic()
    traffic.wait_for(before + len(traffic.senders) + 1, timeout_seconds=_MAX_WAIT_SECONDS)
    seconds = time.monotonic() - started
    if seconds > plan.recovery_seconds:
        traffic.findings.append(f"no answer was accepted for {seconds:.1f} s after a kill")


def _kill_connection(server: postgresql.Server, random: Random) -> None:
    """Kill a process that serves a connection of the service."""
    serving = [
        each
        for each in psutil.Process(server.pid).children()
        if " service " in " ".join(each.cmdline())
    ]
    if serving:
        random.choice(serving).kill()
