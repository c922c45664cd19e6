"""Prometheus metrics; every app has its own registry.

Where the service has several worker processes, each counts in files that they share, and any of
them can tell the sum. The operator's Prometheus asks one address, and reaches any process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

CONTENT_TYPE = CONTENT_TYPE_LATEST

#: Where a process finds the files; prometheus_client looks there when it is imported.
_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """The metrics. Labels come from short closed lists, never from callers."""

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram
    attempts: Counter
    refused_answers: Counter
    writer_group_size: Histogram
    writer_queue: Gauge
    clock_steps: Counter


def open_metrics() -> Metrics:
    """Return metrics that are all zero."""
    registry = CollectorRegistry()
    return Metrics(
        registry=registry,
        requests=Counter(
            "keyset_requests",
            "Requests answered, by route, method and status.",
            ("route", "method", "status"),
            registry=registry,
        ),
        request_seconds=Histogram(
            "keyset_request_seconds",
            "Time from a request's arrival to the end of its response.",
            ("route", "method"),
            buckets=_SECONDS,
            registry=registry,
        ),
        attempts=Counter(
            "keyset_attempts", "Attempts recorded, by outcome.", ("outcome",), registry=registry
        ),
        refused_answers=Counter(
            "keyset_refused_answers",
            "Answers that could not be read, by the code of the first fault.",
            ("code",),
            registry=registry,
        ),
        writer_group_size=Histogram(
            "keyset_writer_group_size",
            "Attempts that were written with one commit.",
            buckets=_BATCH_SIZES,
            registry=registry,
        ),
        writer_queue=Gauge(
            "keyset_writer_queue",
            "Attempts that wait for the writer.",
            registry=registry,
            multiprocess_mode="livesum",
        ),
        clock_steps=Counter(
            "keyset_clock_steps",
            "Steps of the wall clock by a second or more, seen by each worker process.",
            registry=registry,
        ),
    )


def count_request(
    metrics: Metrics, *, route: str, method: str, status: int, seconds: float
) -> None:
    """Count one answered request."""
    count, time = _find_children(metrics, route, method, status)
    count.inc()
    time.observe(seconds)


# There are as many as the closed lists allow; to find them by their labels takes longer.
@cache
def _find_children(
    metrics: Metrics, route: str, method: str, status: int
) -> tuple[Counter, Histogram]:
    return (
        metrics.requests.labels(route, method, str(status)),
        metrics.request_seconds.labels(route, method),
    )


def count_attempt(metrics: Metrics, outcome: str) -> None:
    """Count one answer that was recorded or refused."""
    _find_outcome(metrics, outcome).inc()


@cache
def _find_outcome(metrics: Metrics, outcome: str) -> Counter:
    return metrics.attempts.labels(outcome)


def render_metrics(metrics: Metrics) -> bytes:
    """All metrics in the Prometheus text format, to be sent as `CONTENT_TYPE`."""
    if _SHARED_FOLDER not in os.environ:
        return generate_latest(metrics.registry)
    together = CollectorRegistry()
    # The library has no types for it.
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Let the processes that are started inside count together."""
    # Prometheus maps the files into memory; on a disk that is full that would end the process.
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="keyset-metrics-", dir=base)
    os.environ[_SHARED_FOLDER] = folder
    try:
        yield
    finally:
        del os.environ[_SHARED_FOLDER]
        shutil.rmtree(folder, ignore_errors=True)


def forget_process(pid: int) -> None:
    """Leave out what a process that has ended cannot say any more; what it counted stays."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]  # As above.
