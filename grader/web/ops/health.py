"""Endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from grader import __version__
from grader.accounts.callers import Caller
from grader.domain.roles import Scope
from grader.errors import MissingRole, MissingScope, NotSignedIn, TooManyRequests, Unavailable
from grader.feedback.base import ReportModel
from grader.store.migrations import has_pending_revisions, write_revision_again
from grader.store.queries.courses import list_runs
from grader.web.auth import describe_access, make_operator_dependency
from grader.web.errors.openapi import build_error_responses
from grader.web.ops.metrics import CONTENT_TYPE, render_metrics
from grader.web.service import Service, ServiceDep

router = APIRouter(tags=["Operation"])

#: Anybody may ask, so that all who do within this time get one answer.
_KEPT_SECONDS = 1.0
_WRITE_EVERY_SECONDS = 10.0
_MAX_WRITE_SECONDS = 10.0


class Readiness:
    """Whether a service can work: looked at once for everybody who asks at about the same time."""

    def __init__(self, service: Service, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._monotonic = monotonic
        self._look: asyncio.Task[Unavailable | None] | None = None
        self._looked_at = self._written_at = -math.inf

    async def check(self) -> None:
        """Return if the service can work.

        Raises
        ------
        Unavailable
            With the reason.
        """
        look = self._look
        if look is None or (look.done() and self._is_over(self._looked_at, _KEPT_SECONDS)):
            look = self._look = asyncio.create_task(self._find_refusal())
        # Who leaves does not take the answer from the others.
        refusal = await asyncio.shield(look)
        if refusal is not None:
            raise Unavailable(str(refusal))

    def _is_over(self, since: float, seconds: float) -> bool:
        return self._monotonic() - since >= seconds

    async def _find_refusal(self) -> Unavailable | None:
        try:
            await self._service.run_in_reader(self._read)
            await self._write()
        except Unavailable as refusal:
            return refusal
        finally:
            self._looked_at = self._monotonic()
        return None

    def _read(self) -> None:
        with self._service.database.read() as session:
            list_runs(session)
            is_behind = has_pending_revisions(session)
        if is_behind:
            raise Unavailable("The database waits for `grader migrate`.")
        if not self._service.writer.is_working:
            raise Unavailable("The writer has ended.")

    async def _write(self) -> None:
        """Try a write now and then: a database that can be read may be full or read-only."""
        writer = self._service.writer
        # Where the queue is full, a service is busy but well.
        if not self._is_over(self._written_at, _WRITE_EVERY_SECONDS) or writer.find_refusal():
            return
        try:
            await asyncio.wait_for(writer.run(write_revision_again), _MAX_WRITE_SECONDS)
        except TimeoutError:
            raise Unavailable(
                f"The database has not accepted a write within {_MAX_WRITE_SECONDS:g} seconds."
            ) from None
        self._written_at = self._monotonic()


class Health(ReportModel):
    """Whether the process is alive or ready, and its version."""

    status: str
    version: str


@router.get("/healthz", summary="Is it alive")
async def get_health() -> Health:
    """Whether the process answers; it does not query the database."""
    return Health(status="alive", version=__version__)


@router.get("/readyz", summary="Is it ready", responses=build_error_responses(503))
async def get_readiness(request: Request) -> Health:
    """Whether the database can be read and written, its tables are up to date, the writer works.

    The answer is at most a second old; a write is tried every ten seconds.
    """
    readiness: Readiness = request.app.state.readiness
    await readiness.check()
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
    return Response(render_metrics(service.metrics), headers={"Content-Type": CONTENT_TYPE})
