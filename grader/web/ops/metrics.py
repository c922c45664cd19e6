"""What the service counts, for Prometheus; every app has its own registry."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from grader import __version__
from grader.errors import Unavailable
from grader.feedback.base import ReportModel
from grader.store.migrations import list_pending_revisions
from grader.store.queries.courses import list_runs
from grader.web.errors.openapi import build_error_responses
from grader.web.service import ServiceDep

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The counters, by what they count. Labels come from short closed lists, never from callers."""

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram
    attempts: Counter
    refused_answers: Counter
    writer_group_size: Histogram
    writer_queue: Gauge


def open_metrics() -> Metrics:
    """Return counters that all stand at zero."""
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
    metrics.requests.labels(route, method, str(status)).inc()
    metrics.request_seconds.labels(route, method).observe(seconds)


def render_metrics(metrics: Metrics) -> bytes:
    """All counters in Prometheus' text form, to be sent as `CONTENT_TYPE`."""
    return generate_latest(metrics.registry)


router = APIRouter(tags=["Operation"])


class Health(ReportModel):
    """That it is alive or ready, and which version it is."""

    status: str
    version: str


@router.get("/healthz", summary="Is it alive")
async def get_health() -> Health:
    """Whether the process answers at all; it asks nothing of the database."""
    return Health(status="alive", version=__version__)


@router.get("/readyz", summary="Is it ready", responses=build_error_responses(503))
def get_readiness(service: ServiceDep) -> Health:
    """Whether it can work: the database answers, its tables are up to date, the writer works."""
    with service.database.read() as session:
        list_runs(session)
    if list_pending_revisions(service.database.url.render_as_string(hide_password=False)):
        raise Unavailable("The database waits for `grader migrate`.")
    if not service.writer.is_working:
        raise Unavailable("The writer has ended.")
    return Health(status="ready", version=__version__)


@router.get(
    "/metrics",
    summary="What was counted",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
)
async def get_metrics(service: ServiceDep) -> Response:
    """What was counted, for Prometheus."""
    service.metrics.writer_queue.set(service.writer.waiting)
    return Response(render_metrics(service.metrics), headers={"Content-Type": CONTENT_TYPE})
