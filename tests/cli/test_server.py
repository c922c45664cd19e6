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
from grader.cli.server import choose_cores

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


@pytest.mark.parametrize(
    ("allowed", "workers", "chosen"),
    [
        pytest.param([0, 1, 2], 3, [0, 1, 2], id="a worker for every core"),
        pytest.param([4, 7], 5, [4, 7, 4, 7, 4], id="more workers than cores"),
        pytest.param([0, 1, 2], 2, [], id="cores to spare"),
        pytest.param([3], 2, [], id="a single core"),
        pytest.param([], 2, [], id="a system without a choice"),
    ],
)
def test_workers_are_placed_only_where_every_core_gets_one(
    allowed: list[int], workers: int, chosen: list[int]
) -> None:
    assert choose_cores(allowed, workers=workers) == chosen
