"""`kill -9` of the service, in the middle of its work, again and again on the same store.

A cycle starts the service, sends answers from 8 to 64 students and kills all of its processes: at
a number of acknowledgements that is drawn anew, and then at a random moment within the next
commits, or, in one cycle of ten, while it starts. What was under way is sent again in the next one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store
from bench.torture.traffic import Sender, Traffic, choose_senders

#: How many cycles a store is used for: few enough for an audit to read it in a second, and enough
#: for its log to be copied into the database meanwhile.
CYCLES_PER_STORE = 50
STUDENTS = 64
LEAST_SENDERS = 8
_START_SHARE = 0.1
_START_SECONDS = 1.5
#: About as long as it takes to judge and to commit a batch.
_BATCH_SECONDS = 0.06


@dataclass(frozen=True, slots=True)
class KillPlan:
    """How often to kill, and after how many acknowledgements on average."""

    database: str
    cycles: int
    acknowledgements: int
    lanes: int
    seed: int
    evidence: Path


def run_kills(plan: KillPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Kill the service; several stores at once, because a service that starts uses one core."""
    return run_lanes(
        CampaignResult("kills", plan.database), plan.cycles, plan.lanes,
        partial(_run_lane, plan, advance=advance),
    )  # fmt: skip


def run_lanes(
    result: CampaignResult,
    cycles: int,
    lanes: int,
    run_lane: Callable[[int, int], CampaignResult],
) -> CampaignResult:
    """Share cycles among lanes that run at once; each is given its number and its cycles."""
    started = time.monotonic()
    shares = [cycles // lanes + (number < cycles % lanes) for number in range(lanes)]
    parts: list[CampaignResult] = []
    threads = [
        threading.Thread(target=lambda n=number, c=share: parts.append(run_lane(n, c)))
        for number, share in enumerate(shares)
        if share
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for part in parts:
        result.add(part)
    if len(parts) < len(threads):
        result.findings.append("a lane ended with an error")
    result.trials = result.acknowledged
    result.seconds = time.monotonic() - started
    return result


def _run_lane(
    plan: KillPlan, number: int, cycles: int, *, advance: Callable[[int], object]
) -> CampaignResult:
    result = CampaignResult("kills", plan.database)
    random = Random(f"{plan.seed} {number}")
    workers = 1 if plan.database == "sqlite" else 2
    for first in range(0, cycles, CYCLES_PER_STORE):
        with open_store(plan.database, result, evidence=plan.evidence, students=STUDENTS) as store:
            senders = [Sender([each]) for each in store.students]
            for _ in range(min(CYCLES_PER_STORE, cycles - first)):
                _run_cycle(plan, store, senders, random, result, workers=workers)
                advance(1)
            # What was under way at the last kill must have an answer, too.
            send_and_kill(store, senders, random, result, workers=workers, least=1)
    return result


def _run_cycle(
    plan: KillPlan,
    store: TortureStore,
    senders: Sequence[Sender],
    random: Random,
    result: CampaignResult,
    *,
    workers: int,
) -> None:
    result.cycles += 1
    if random.random() < _START_SHARE:
        result.counts["killed while it started"] += 1
        with store.run_service(workers=workers, is_awaited=False) as server:
            time.sleep(random.uniform(0, _START_SECONDS))
            server.kill()
        return
    chosen = choose_senders(senders, random, least=LEAST_SENDERS)
    least = random.randint(0, 2 * plan.acknowledgements)
    send_and_kill(store, chosen, random, result, workers=workers, least=least)


def send_and_kill(
    store: TortureStore,
    senders: Sequence[Sender],
    random: Random,
    result: CampaignResult,
    *,
    workers: int,
    least: int,
    under: Sequence[str] = (),
) -> bool:
    """Start the service, send answers, and kill it after that many acknowledgements.

    Returns whether it lived until then; `under` is a command that may kill it before.
    """
    has_lived = False
    with store.run_service(workers=workers, under=under, is_awaited=False) as server:
        if not server.wait_until_answering():
            if not under:
                result.findings.append("the service does not start after it was killed")
            return False
        traffic = Traffic(store, senders, server.port, random)

        def kill(traffic: Traffic) -> None:
            nonlocal has_lived
            has_lived = traffic.wait_for(least)
            if not has_lived and not traffic.is_over:
                result.findings.append("the service stopped answering")
            elif not has_lived and not under:
                result.findings.append(f"the service ended by itself: {server.process.poll()}")
            time.sleep(random.uniform(0, _BATCH_SECONDS))
            traffic.is_dying = True
            server.kill()

        asyncio.run(traffic.run(kill))
    store.sync()
    result.acknowledged += traffic.acknowledged
    result.findings += traffic.findings
    if not under:
        result.findings += traffic.lost
    result.counts += traffic.counts
    return has_lived
