"""Worker processes of the service, started as an operator starts them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.load.processes import RunningServer, run_service

CORES = len(os.sched_getaffinity(0))


def list_workers(server: RunningServer) -> list[psutil.Process]:
    """The processes that answer requests."""
    return [each for each in server.process.children() if "spawn_main" in _read_command(each)]


def _read_command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def list_cores(worker: psutil.Process) -> set[frozenset[int]]:
    """The cores that the threads of a worker may run on."""
    return {frozenset(os.sched_getaffinity(each.id)) for each in worker.threads()}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@pytest.mark.skipif(CORES < 2, reason="one core is everybody's own")
def test_every_core_has_a_worker_also_after_one_was_killed(
    postgresql_url: str, tmp_path: Path
) -> None:
    def is_everywhere() -> bool:
        cores = Counter(core for each in list_workers(server) for core in list_cores(each))
        return cores == {frozenset({core}): 1 for core in os.sched_getaffinity(0)}

    with run_service(postgresql_url, workers=CORES, folder=tmp_path) as server:
        wait_for(is_everywhere)
        list_workers(server)[-1].kill()
        wait_for(lambda: not is_everywhere())
        wait_for(is_everywhere)


@pytest.mark.skipif(CORES < 3, reason="it takes fewer workers than cores, and more than one")
def test_with_cores_to_spare_a_worker_may_run_on_any(postgresql_url: str, tmp_path: Path) -> None:
    with run_service(postgresql_url, workers=2, folder=tmp_path) as server:
        # By now they would have been placed.
        time.sleep(1)
        cores = {core for each in list_workers(server) for core in list_cores(each)}

    assert cores == {frozenset(os.sched_getaffinity(0))}
