"""Routes that are imported when the service listens already."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from grader.store.database import Database
from grader.web import app as app_module
from grader.web.app import make_app
from grader.web.lazy_routes import LazyRoutes
from tests.support.world import make_service

router = APIRouter()


@router.get("/late")
async def get_late() -> str:
    return "late"


class Loader:
    """Makes the routes, when it is let."""

    def __init__(self) -> None:
        self.times = 0
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self) -> list[BaseRoute]:
        self.times += 1
        self.begun.set()
        assert self.may_end.wait(10)
        return router.routes


@pytest.fixture
def loader() -> Loader:
    return Loader()


@pytest.fixture
def app(loader: Loader) -> FastAPI:
    app = FastAPI()
    app.state.routes = LazyRoutes(app, loader)

    @app.get("/early")
    async def get_early() -> str:
        return "early"

    return app


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


def test_a_route_that_is_there_does_not_wait_for_the_others(
    client: TestClient, loader: Loader
) -> None:
    assert client.get("/early").json() == "early"
    assert loader.times == 0


def test_the_first_request_for_another_route_loads_them_once(
    client: TestClient, loader: Loader
) -> None:
    assert client.get("/late").json() == "late"
    assert client.get("/late").json() == "late"
    assert client.post("/late").status_code == 405
    assert client.get("/early").json() == "early"
    assert loader.times == 1


def test_an_address_without_a_route_is_not_found(client: TestClient, loader: Loader) -> None:
    assert client.get("/never").status_code == 404
    assert client.get("/never").status_code == 404
    assert loader.times == 1


def test_a_request_waits_while_another_thread_loads(
    app: FastAPI, client: TestClient, loader: Loader
) -> None:
    loader.may_end.clear()
    loading = threading.Thread(target=app.state.routes.load)
    loading.start()
    assert loader.begun.wait(10)

    threading.Timer(0.05, loader.may_end.set).start()
    assert client.get("/late").json() == "late"
    loading.join()
    assert loader.times == 1


def test_a_request_that_looked_just_before_they_were_added_looks_again(app: FastAPI) -> None:
    app.state.routes.load()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/late", "raw_path": b"/late", "query_string": b"",
        "headers": [], "app": app, "root_path": "",
    }  # fmt: skip
    asyncio.run(call_within_stacks(app.state.routes, scope, receive, send))

    assert sent[0]["status"] == 200


async def call_within_stacks(routes: LazyRoutes, scope: Any, receive: Any, send: Any) -> None:
    from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware

    await AsyncExitStackMiddleware(routes)(scope, receive, send)


def test_the_service_is_ready_without_its_api_and_pages(database: Database) -> None:
    with make_service(database) as world:
        app = make_app(world.service)
        # Without the life of the app, nothing but a request loads them.
        client = TestClient(app)

        assert client.get("/readyz").json()["status"] == "ready"
        assert not app.state.routes.is_loaded
        assert client.get("/api/v1/me").status_code == 401
        assert app.state.routes.is_loaded


def test_the_service_starts_without_what_only_grading_and_pages_need() -> None:
    code = (
        "import sys, grader.cli.server\n"
        "print({'numpy', 'lark', 'yaml', 'jinja2', 'alembic', 'psycopg'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "set()"


def test_two_apps_of_a_process_may_load_at_once(
    monkeypatch: pytest.MonkeyPatch, loader: Loader
) -> None:
    """It was a defect: both made the same models, and one of them failed."""
    monkeypatch.setattr(app_module, "_make_routes", cache(loader))
    loader.may_end.clear()
    apps = [LazyRoutes(FastAPI(), app_module.list_lazy_routes) for _ in range(2)]
    threads = [threading.Thread(target=each.load) for each in apps]
    for each in threads:
        each.start()
    assert loader.begun.wait(10)
    threading.Timer(0.05, loader.may_end.set).start()
    for each in threads:
        each.join(10)

    assert all(each.is_loaded for each in apps)
    assert loader.times == 1


def test_openapi_has_all_calls_in_the_order_of_the_manual(sqlite_database: Database) -> None:
    with make_service(sqlite_database) as world:
        paths = list(make_app(world.service).openapi()["paths"])

    assert paths[0].startswith("/api/v1/")
    assert paths[-1] == "/metrics"
