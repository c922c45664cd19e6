"""The app: every route and all middleware, for a service whose parts are ready."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from grader import __version__
from grader.accounts.sign_in import delete_old_password_tries
from grader.grading.idempotency import delete_expired_keys
from grader.web.admission import LargeBodies
from grader.web.errors.openapi import install_openapi
from grader.web.errors.problems import install_problems
from grader.web.http.body import BodyLimits, install_body_limits
from grader.web.http.fast_path import FAST_ROUTES, FastRoute
from grader.web.http.middleware import install_middleware
from grader.web.http.routing import install_route_table
from grader.web.http.throttle import Throttle
from grader.web.http.turnstile import TURNSTILE, Turnstile
from grader.web.lazy_routes import LazyRoutes
from grader.web.manual.routes import install_manual
from grader.web.ops import health
from grader.web.ops.background import BackgroundRunner
from grader.web.ops.clock import ClockWatch
from grader.web.ops.memory import give_back_memory
from grader.web.service import READER_THREADS, Service

_TIDY_SECONDS = 3600.0
_WATCH_SECONDS = 1.0
_GIVE_BACK_SECONDS = 60.0
# Those who asked meanwhile whether the service is ready are answered first.
_ROUTES_SECONDS = 0.1

_DESCRIPTION = """\
Homework whose answers are vectors, matrices and formulas, graded by what they do.

Send `Authorization: Bearer TOKEN`. Errors are problem+json (RFC 9457) with a stable `code`, and in
`errors` a JSON pointer to every place that needs a change. A wrong answer is not an error; one that
cannot be read is, and uses no attempt.
"""


def make_app(
    service: Service,
    caps: BodyLimits | None = None,
    *,
    alongside: AbstractContextManager[None] | None = None,
) -> FastAPI:
    """The app of a service; it starts and stops the service's writer.

    While the writer works, it is inside `alongside`.
    """
    background = BackgroundRunner()
    turnstile = Turnstile()

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = READER_THREADS
        service.writer.start()
        tidying = asyncio.create_task(_forget_periodically(service))
        watch = ClockWatch(service.clock, service.logs, service.metrics, service.monotonic)
        watching = asyncio.create_task(_watch_periodically(service, watch))
        trimming = asyncio.create_task(_give_back_periodically())
        loading = threading.Thread(target=routes.load, name="routes", daemon=True)
        asyncio.get_running_loop().call_later(_ROUTES_SECONDS, loading.start)
        with alongside or nullcontext():
            yield {FAST_ROUTES: app.state.fast_routes, TURNSTILE: turnstile}
        tidying.cancel()
        watching.cancel()
        trimming.cancel()
        background.stop()
        service.writer.stop()
        service.database.close()

    app = FastAPI(
        title="Keyset",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=run,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Problems are described by us, route by route.
        separate_input_output_schemas=False,
        generate_unique_id_function=_operation_id,
        # Logs and metrics are ours, and tell less about people.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    app.state.background = background
    app.state.readiness = health.Readiness(service)
    install_problems(app)
    install_body_limits(app, replace(caps or BodyLimits(), admission=LargeBodies()))
    app.state.fast_routes = fast_routes = list[FastRoute]()

    def list_routes() -> list[BaseRoute]:
        routes = list_lazy_routes()
        # Until they are here, answers are left to the app, which waits for them.
        from grader.web.api.submit_fast_path import SubmitFastRoute

        fast_routes.append(SubmitFastRoute(service, app.state.caps))
        return routes

    routes = app.state.routes = LazyRoutes(app, list_routes)
    app.include_router(health.router)
    install_openapi(app)
    _describe_security(app)
    install_manual(app, base_url=service.base_url)
    install_route_table(app)
    install_middleware(
        app,
        clock=service.clock,
        logs=service.logs,
        metrics=service.metrics,
        throttle=Throttle(
            service.budgets,
            refusal_seconds=service.refusal_seconds,
            anonymous_per_second=service.anonymous_per_second,
            turnstile=turnstile,
        ),
        hosts=service.hosts,
    )
    return app


_making_routes = threading.Lock()


def list_lazy_routes() -> list[BaseRoute]:
    """The routes of the API and the pages, made once in a process; none of them knows its app."""
    # Two apps of a process may need them at once, and models can be built by one thread only.
    with _making_routes:
        return _make_routes()


@cache
def _make_routes() -> list[BaseRoute]:
    from grader.web.api.routes import build_api
    from grader.web.pages.routes import install_pages

    maker = FastAPI(openapi_url=None, generate_unique_id_function=_operation_id)
    before = len(maker.router.routes)
    maker.include_router(build_api())
    install_pages(maker)
    routes = maker.router.routes[before:]
    # FastAPI works out what each route inherits from its routers when it is first asked.
    list(iter_route_contexts(routes))
    return routes


async def _forget_periodically(service: Service) -> None:
    """Delete expired records now and then."""
    while True:
        service.writer.note(partial(delete_expired_keys, at=service.clock()))
        service.writer.note(partial(delete_old_password_tries, at=service.clock()))
        await asyncio.sleep(_TIDY_SECONDS)


async def _watch_periodically(service: Service, watch: ClockWatch) -> None:
    """Look after what operators want to see and no request shows."""
    while True:
        service.metrics.writer_queue.set(service.writer.waiting)
        await asyncio.sleep(_WATCH_SECONDS)
        watch.look()


async def _give_back_periodically() -> None:
    """Give back memory that was freed, which keeps growing otherwise."""
    while True:
        await asyncio.sleep(_GIVE_BACK_SECONDS)
        await asyncio.to_thread(give_back_memory)


def _operation_id(route: APIRoute) -> str:
    """The name of an operation in generated clients: its function name."""
    return route.name


def _describe_security(app: FastAPI) -> None:
    """Add to OpenAPI how callers authenticate, and which calls are public."""
    describe = app.openapi

    def describe_with_ways_in() -> dict[str, Any]:
        app.state.routes.load()
        spec = describe()
        spec["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "A token of yours."},
        }
        for path in spec["paths"].values():
            for operation in path.values():
                operation["security"] = [] if _is_public(operation) else [{"token": []}]
        return spec

    # Replacing this method is the way that FastAPI documents.
    app.openapi = describe_with_ways_in  # type: ignore[method-assign]


def _is_public(operation: dict[str, Any]) -> bool:
    return "401" not in operation["responses"] or "anybody" in operation.get("x-roles", ())
