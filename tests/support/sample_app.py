"""A small app that has everything around it and nothing of Keyset's own inside."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.testclient import TestClient
from pydantic import AwareDatetime, Field

from grader.web.errors.problems import install_problems
from grader.web.http.body import (
    BodyLimits,
    RequestBody,
    StrictRoute,
    install_body_limits,
    read_body,
    read_form,
)
from grader.web.http.middleware import install_middleware
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import Metrics, open_metrics
from tests.support.budgets import make_throttle

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


class Vector(RequestBody):
    """A vector with a few facts about it."""

    q: list[float] = Field(description="The entries.", examples=[[0.5, 0.25]])
    title: str = ""
    due_at: AwareDatetime | None = None
    points: Decimal | None = None
    kind: Literal["row", "column"] = "column"
    either: list[float] | str | None = None
    rest: Any = None


class Nested(RequestBody):
    """A vector inside."""

    inside: Vector
    flags: tuple[bool, ...] = ()


@dataclass
class Sample:
    app: FastAPI
    client: TestClient
    metrics: Metrics
    log: io.StringIO

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def make_sample(router: APIRouter | None = None, caps: BodyLimits | None = None) -> Sample:
    app = FastAPI(title="Sample", version="1.0", openapi_url=None, docs_url=None, redoc_url=None)
    metrics, log = open_metrics(), io.StringIO()
    install_problems(app)
    install_body_limits(app, caps)
    logs = open_logs(log, pretty=False)
    throttle = make_throttle()
    install_middleware(app, clock=lambda: NOW, logs=logs, metrics=metrics, throttle=throttle)
    app.include_router(_routes(), prefix="/api/v1")
    if router is not None:
        app.include_router(router)
    return Sample(app, TestClient(app), metrics, log)


def _routes() -> APIRouter:
    router = APIRouter(route_class=StrictRoute)

    @router.post("/courses/{course}/vectors")
    async def add_vector(course: str, body: Vector) -> dict[str, int]:
        return {"entries": len(body.q)}

    @router.get("/courses/{course}/vectors")
    async def list_vectors(course: str, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> int:
        return limit

    @router.post("/nested")
    async def add_nested(body: Nested) -> list[bool]:
        return list(body.flags)

    @router.post("/anything")
    async def add_anything(body: Annotated[dict[str, Any], Field()]) -> str:
        return "taken"

    @router.post("/files")
    async def add_file(request: Request) -> int:
        return len(await read_body(request, types=("text/csv",), most_bytes=2_000_000))

    @router.post("/forms")
    async def add_form(request: Request) -> dict[str, str]:
        return await read_form(request)

    @router.get("/when")
    async def tell_time(request: Request) -> datetime:
        received_at: datetime = request.state.received_at
        return received_at

    return router
