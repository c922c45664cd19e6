"""Kills and failures at chosen system calls, by `strace`: at the n-th time a file is written.

On SQLite, whose files the service writes itself. In turns the service is killed at the call, or the
call fails a few times as it does on a broken or a full disk, after which the service must go on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from bench.torture.kills import CYCLES_PER_STORE, LEAST_SENDERS, STUDENTS, run_lanes, send_and_kill
from bench.torture.results import CampaignResult
from bench.torture.stores import open_store
from bench.torture.traffic import Sender, choose_senders

#: Up to which call a thread is let: a commit has one `fdatasync`, and for each answer some 40
#: `pwrite64`. Strace counts the calls of each thread.
_MOST_CALLS = {"fdatasync": 12, "pwrite64": 1500}
#: What the main thread calls before the service answers, where a failure ends it.
_CALLS_AT_START = {"fdatasync": 4, "pwrite64": 60}
_ERRORS = ("EIO", "ENOSPC")
_MOST_FAILURES = 3
#: More than come before the last of the calls.
_ACKNOWLEDGEMENTS = 250


@dataclass(frozen=True, slots=True)
class SystemCallPlan:
    """How often to kill at a system call; as often, calls fail."""

    cycles: int
    lanes: int
    seed: int
    evidence: Path


def has_strace() -> bool:
    """Whether the program is there."""
    return shutil.which("strace") is not None


def run_system_calls(plan: SystemCallPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Kill the service at system calls of SQLite, and let such calls fail."""
    if not has_strace():
        raise RuntimeError("strace is missing; on Debian: apt-get update && apt-get install strace")
    return run_lanes(
        CampaignResult("system calls", "sqlite"), plan.cycles, plan.lanes,
        partial(_run_lane, plan, advance=advance),
    )  # fmt: skip


def _run_lane(
    plan: SystemCallPlan, number: int, cycles: int, *, advance: Callable[[int], object]
) -> CampaignResult:
    result = CampaignResult("system calls", "sqlite")
    random = Random(f"{plan.seed} {number}")
    for first in range(0, cycles, CYCLES_PER_STORE):
        with open_store("sqlite", result, evidence=plan.evidence, students=STUDENTS) as store:
            senders = [Sender([each]) for each in store.students]
            for _ in range(min(CYCLES_PER_STORE, cycles - first)):
                for is_kill in (True, False):
                    call = random.choice(list(_MOST_CALLS))
                    has_lived = send_and_kill(
                        store,
                        choose_senders(senders, random, least=LEAST_SENDERS),
                        random,
                        result,
                        workers=1,
                        least=_ACKNOWLEDGEMENTS,
                        under=_trace(call, random, is_kill=is_kill),
                    )
                    if is_kill:
                        result.counts[f"killed at {call}"] += not has_lived
                    elif not has_lived:
                        result.findings.append(f"the service ended when {call} failed")
                result.cycles += 1
                advance(1)
            send_and_kill(store, senders, random, result, workers=1, least=1)
    return result


def _trace(call: str, random: Random, *, is_kill: bool) -> list[str]:
    """The command under which the service runs; the tracer stays behind it and ends with it.

    It stops at every system call: with `--seccomp-bpf`, which is faster, it sends no signals.
    """
    if is_kill:
        action = f"signal=KILL:when={random.randint(1, _MOST_CALLS[call])}"
    else:
        first = random.randint(_CALLS_AT_START[call], _MOST_CALLS[call])
        last = first + random.randint(0, _MOST_FAILURES - 1)
        action = f"error={random.choice(_ERRORS)}:when={first}..{last}"
    return [
        "strace", "--follow-forks", "--daemonize", "--quiet=all",
        "--output=/dev/null", f"--trace={call}", f"--inject={call}:{action}",
    ]  # fmt: skip
