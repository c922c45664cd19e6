"""Endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from grader import __version__
from grader.accounts.callers import Caller
from grader.domain.roles import Scope
from grader.errors import MissingRole, MissingScope, NotSignedIn, TooManyRequests, Unavailable
from grader.feedback.base import ReportModel
from grader.store.migrations import has_pending_revisions
from grader.store.queries.courses import list_runs
from grader.web.auth import describe_access, make_operator_dependency
from grader.web.errors.openapi import build_error_responses
from grader.web.ops.metrics import CONTENT_TYPE, render_metrics
from grader.web.service import ServiceDep

router = APIRouter(tags=["Operation"])


class Health(ReportModel):
    """Whether the process is alive or ready, and its version."""

    status: str
    version: str


@router.get("/healthz", summary="Is it alive")
async def get_health() -> Health:
    """Whether the process answers; it does not query the database."""
    return Health(status="alive", version=__version__)


@router.get("/readyz", summary="Is it ready", responses=build_error_responses(503))
def get_readiness(service: ServiceDep) -> Health:
    """Whether the database answers, its tables are up to date, and the writer works."""
    with service.database.read() as session:
        list_runs(session)
        is_behind = has_pending_revisions(session)
    if is_behind:
        raise Unavailable("The database waits for `grader migrate`.")
    if not service.writer.is_working:
        raise Unavailable("The writer has ended.")
    return Health(status="ready", version=__version__)


@router.get(
    "/metrics",
    summary="What was counted",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {}}},
        **build_error_responses(NotSignedIn, MissingScope, MissingRole, TooManyRequests, 503),
    },
    openapi_extra=describe_access(Scope.METRICS, "operators"),
)
def get_metrics(
    service: ServiceDep,
    operator: Annotated[Caller, Depends(make_operator_dependency(Scope.METRICS))],
) -> Response:
    """What all worker processes have counted since the service started, for Prometheus."""
    service.metrics.writer_queue.set(service.writer.waiting)
    return Response(render_metrics(service.metrics), headers={"Content-Type": CONTENT_TYPE})
