"""Prometheus metrics; every app has its own registry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

CONTENT_TYPE = CONTENT_TYPE_LATEST

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
            "keyset_writer_queue", "Attempts that wait for the writer.", registry=registry
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
    return generate_latest(metrics.registry)
