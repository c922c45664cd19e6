"""The watch on the clock: a step is told, and the passing of time is not."""

from __future__ import annotations

import io
import json
import time

import pytest

import grader.web.app as app_module
from grader.store.database import Database
from grader.web.ops.clock import ClockWatch
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import open_metrics, render_metrics
from tests.support.world import Clock, make_service


def test_a_step_of_the_clock_is_logged_and_counted_once() -> None:
    wall, log, metrics, seconds = Clock(), io.StringIO(), open_metrics(), [100.0]
    watch = ClockWatch(wall, open_logs(log, pretty=False), metrics, lambda: seconds[0])

    def wait(real: float, shown: float) -> list[float]:
        """Let time pass, of which the clock shows more or less, and return the steps told."""
        seconds[0] += real
        wall.turn(seconds=shown)
        watch.look()
        return [json.loads(line)["seconds"] for line in log.getvalue().splitlines()]

    assert wait(3600, 3600) == []
    assert wait(1, 1.02) == [], "a clock that is slewed"
    assert wait(1, 3601) == [3600]
    assert wait(1, 1) == [3600]
    assert wait(1, -3599) == [3600, -3600]
    assert "keyset_clock_steps_total 2.0" in render_metrics(metrics).decode()


def test_a_running_service_watches_its_clock(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_WATCH_SECONDS", 0.01)
    with make_service(sqlite_database, monotonic=lambda: 0.0) as world:
        world.clock.turn(hours=-1)
        deadline = time.monotonic() + 20
        steps = list[float]()
        while not steps:
            assert time.monotonic() < deadline, "it was not told"
            steps = [line["seconds"] for line in world.lines() if line["event"] == "clock stepped"]

        assert steps == [-3600]
