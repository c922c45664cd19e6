"""The table of routes: every request comes to the place to which FastAPI alone would bring it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from grader.store.database import open_database
from grader.web.http.middleware import RequestMiddleware
from grader.web.http.routing import FoundRoutes, RouteTable, install_route_table
from grader.web.ops.metrics import render_metrics
from tests.support.databases import fresh_url
from tests.support.world import BASE, World, make_service


@dataclass(slots=True)
class Recorder:
    """What the router has found for the last request."""

    inner: ASGIApp
    scope: dict[str, Any] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.inner(scope, receive, send)
        finally:
            if scope["type"] == "http":
                self.scope = dict(scope)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a request came to, and what it was told."""

    endpoint: Any
    path_params: dict[str, Any]
    status: int
    headers: dict[str, str]
    label: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("routing")) as url,
        closing(open_database(url)) as database,
        make_service(database) as world,
    ):
        yield world


def app_of(world: World) -> FastAPI:
    app = world.client.app
    assert isinstance(app, FastAPI)
    app.state.routes.load()
    return app


def table_of(world: World) -> tuple[RequestMiddleware, RouteTable]:
    """The table of an app, and what stands before it."""
    app = app_of(world)
    world.client.get("/healthz")
    layer: Any = app.middleware_stack
    while not isinstance(layer, RequestMiddleware):
        layer = layer.app
    table = layer._app
    assert isinstance(table, RouteTable)
    return layer, table


@contextmanager
def routed_by(world: World, make: Callable[[RouteTable], ASGIApp]) -> Iterator[Recorder]:
    """Let something else stand in the place of the table."""
    before, table = table_of(world)
    recorder = Recorder(make(table))
    before._app = recorder
    try:
        yield recorder
    finally:
        before._app = table


def send(world: World, method: str, path: str, *, with_table: bool) -> Found:
    with routed_by(world, lambda table: table if with_table else table._app) as recorder:
        response = world.call(method, path)
    headers = {
        name: response.headers[name]
        for name in ("allow", "location", "content-type", "www-authenticate")
        if name in response.headers
    }
    return Found(
        recorder.scope.get("endpoint"),
        recorder.scope.get("path_params", {}),
        response.status_code,
        headers,
        world.last_line()["route"],
    )


def send_both(world: World, method: str, path: str) -> Found:
    """What comes of a request, which must be the same with the table and without it."""
    found = send(world, method, path, with_table=True)

    assert found == send(world, method, path, with_table=False), (method, path)
    return found


def list_routes(world: World) -> list[tuple[str, str, Any]]:
    """Every method and path of the app with its function."""
    return [
        (method, str(context.path), context.endpoint)
        for context in iter_route_contexts(app_of(world).routes)
        if isinstance(context.original_route, APIRoute)
        for method in sorted(context.methods or ())
    ]


_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_OF_TYPE = {"int": "7", "float": "7.5", "path": "some/way", "uuid": "0" * 32}


def fill(path: str, value: str) -> str:
    """A path with a value for each parameter."""
    return _PARAMETER.sub(lambda found: _OF_TYPE.get(found[2] or "", f"{value}-{found[1]}"), path)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("one", id="plain"),
        pytest.param("a%20b%3Fc%25", id="escaped"),
        pytest.param("%C3%A9%F0%9F%98%80", id="Unicode"),
        pytest.param("..%2e", id="dots"),
    ],
)
def test_every_route_is_reached_as_without_the_table(world: World, value: str) -> None:
    routes = list_routes(world)
    assert len(routes) > 100

    for method, path, endpoint in routes:
        found = send_both(world, method, fill(path, value))

        names = {each[1] for each in _PARAMETER.finditer(path)}
        assert found.endpoint is endpoint, (method, path)
        assert set(found.path_params) == names, (method, path)
        assert found.label == _PARAMETER.sub(r"{\1}", path)


def test_a_slash_inside_a_value_leads_elsewhere_as_before(world: World) -> None:
    for method, path, _ in list_routes(world):
        if _PARAMETER.search(path):
            send_both(world, method, fill(path, "a%2Fb"))


def test_a_slash_at_the_end_does_what_it_did(world: World) -> None:
    statuses = set()
    for method, path, _ in list_routes(world):
        statuses.add(send_both(world, method, fill(path, "one").rstrip("/") + "/").status)

    assert statuses <= {200, 303, 307, 401, 404, 405}, statuses


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/api/v1/nowhere",
        "/api/v1/courses/one/nowhere",
        "/api/v1//courses",
        "/api/v1/courses/one/assignments/x/questions//attempts",
        "/static/nowhere.css",
        "/API/V1/me",
    ],
)
def test_an_unknown_path_is_not_there(world: World, path: str) -> None:
    assert send_both(world, "GET", path).status == 404
    assert send_both(world, "POST", path).status in (404, 405)


def test_a_wrong_method_is_told_the_right_ones(world: World) -> None:
    methods_by_path = defaultdict(set)
    for method, path, _ in list_routes(world):
        methods_by_path[path].add(method)

    for path, methods in sorted(methods_by_path.items()):
        found = send_both(world, "PATCH", fill(path, "one"))

        assert "PATCH" not in methods
        assert found.status == 405, path
        allowed = set(found.headers["allow"].split(", "))
        assert allowed & methods, path
        assert allowed <= methods | {"HEAD", "OPTIONS"}, path


def test_head_is_answered_like_get(world: World) -> None:
    for path in ("/api/v1/courses/one", "/healthz", "/", "/sign-in"):
        got, head = send_both(world, "GET", path), send_both(world, "HEAD", path)

        assert (head.status, head.endpoint) == (got.status, got.endpoint), path
        assert world.call("HEAD", path).status_code != 405, path


def test_metrics_know_the_template_and_no_value(world: World) -> None:
    world.get("/api/v1/courses/secret-name/assignments/secret-work")

    text = render_metrics(world.service.metrics).decode()
    assert 'route="/api/v1/courses/{course}/assignments/{assignment}"' in text
    assert "secret-" not in text


@pytest.mark.parametrize(
    ("path", "root_path", "is_left", "status"),
    [
        pytest.param("/api/v1/me", "", False, 401, id="a route"),
        pytest.param("/static/nowhere.css", "", False, 404, id="a mounted app"),
        pytest.param("/nowhere", "", False, 404, id="nothing"),
        pytest.param("/sign-in/", "", True, 200, id="a slash too many"),
        pytest.param("/behind/api/v1/me", "/behind", True, 401, id="a route behind a prefix"),
        pytest.param("/api/v1/me", "/api", True, 404, id="a prefix that looks like a route"),
    ],
)
def test_what_the_table_does_not_know_is_left_to_fastapi(
    world: World, path: str, root_path: str, is_left: bool, status: int
) -> None:
    left: list[str] = []
    router = app_of(world).router
    found = router.middleware_stack
    assert isinstance(found, FoundRoutes)

    async def fallback(scope: Scope, receive: Receive, send: Send) -> None:
        left.append(scope["path"])
        await found._fallback(scope, receive, send)

    router.middleware_stack = FoundRoutes(fallback)
    try:
        client = TestClient(app_of(world), base_url=BASE, root_path=root_path)
        response = client.get(path)
    finally:
        router.middleware_stack = found

    # FastAPI asks twice, in case routes were added meanwhile.
    assert set(left) == ({path} if is_left else set())
    assert response.status_code == status


def make_endpoint(path: str) -> Callable[[], str]:
    return lambda: path


@pytest.mark.parametrize("with_table", [True, False])
@pytest.mark.parametrize(
    "paths", [("/people/new", "/people/{name}"), ("/people/{name}", "/people/new")]
)
def test_of_routes_that_match_the_first_is_taken(paths: tuple[str, ...], with_table: bool) -> None:
    app, router = FastAPI(), APIRouter()
    for path in paths:
        router.add_api_route(path, make_endpoint(path), methods=["GET"])
    app.include_router(router, prefix="/api")
    if with_table:
        install_route_table(app)

    assert TestClient(app).get("/api/people/new").json() == paths[0]
