"""Early refusals: what there is no room for is refused as by the app, and costs next to nothing."""

from __future__ import annotations

import io
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.routing import iter_route_contexts
from starlette.responses import Response

from grader.errors import Unavailable
from grader.store.database import open_database
from grader.web.app import SUBMIT_ROUTE
from grader.web.errors.problems import install_problems
from grader.web.http.middleware import install_middleware
from grader.web.http.overload import EARLY_REFUSAL, EarlyRefusal
from grader.web.http.server import Deadlines
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import Metrics, open_metrics
from tests.support.databases import fresh_url
from tests.support.sample_app import NOW
from tests.support.server import connect, read_response, serve
from tests.support.world import make_service

ROUTE = "/courses/{course}/attempts"
BODY = b'{"answer": 1}'
QUICK = Deadlines(head_seconds=5, body_seconds=0.5, linger_seconds=0.3, write_seconds=2)


@dataclass
class Overloaded:
    """An app that says by itself that it is full, and whether a request came to it."""

    port: int = 0
    refusal: Unavailable | None = None
    reached: list[str] = field(default_factory=list)
    log: io.StringIO = field(default_factory=io.StringIO)
    metrics: Metrics = field(default_factory=open_metrics)

    def send(self, head: str = "", body: bytes = BODY, path: str = "/courses/one/attempts") -> Any:
        """The status, headers and body of the answer to one request on a connection of its own."""
        with connect(self.port) as connection:
            connection.sendall(request(head, body, path))
            answer = HTTPResponse(connection)
            answer.begin()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def request(head: str = "", body: bytes = BODY, path: str = "/courses/one/attempts") -> bytes:
    lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n"
    return lines.encode() + body


@pytest.fixture
def service() -> Iterator[Overloaded]:
    found = Overloaded()
    logs = open_logs(found.log, pretty=False)

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        early = EarlyRefusal(
            ROUTE, lambda: found.refusal, is_https=False, logs=logs, metrics=found.metrics
        )
        yield {EARLY_REFUSAL: early}

    app = FastAPI(lifespan=run)

    @app.post(ROUTE)
    async def take(course: str, request: Request) -> Response:
        found.reached.append(course)
        await request.body()
        if found.refusal is not None:
            raise found.refusal
        return Response(status_code=201)

    @app.get(ROUTE)
    async def show(course: str) -> int:
        return 1

    install_problems(app)
    install_middleware(app, clock=lambda: NOW, logs=logs, metrics=found.metrics)
    with serve(app, QUICK, is_started=False) as found.port:
        yield found


def test_with_room_everything_comes_to_the_app(service: Overloaded) -> None:
    assert service.send()[0] == 201
    assert service.reached == ["one"]


def test_without_room_it_is_refused_as_the_app_would(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.", retry_after_seconds=7)

    early = service.send()
    by_app = service.send("X-Request-Id: mine\r\n")

    assert service.reached == ["one"], "only the second one came to the app"
    assert early[0] == by_app[0] == 503
    assert early[1]["retry-after"] == "7"
    unlike = {"x-request-id", "content-length", "date"}
    assert {name: value for name, value in early[1].items() if name not in unlike} == {
        name: value for name, value in by_app[1].items() if name not in unlike
    }
    told, told_by_app = json.loads(early[2]), json.loads(by_app[2])
    assert told["request_id"] == early[1]["x-request-id"]
    del told_by_app["instance"], told_by_app["request_id"], told["request_id"]
    assert told == told_by_app


def test_it_is_logged_and_counted_and_has_an_id_of_its_own(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.")

    ids = {service.send()[1]["x-request-id"] for _ in range(3)}

    lines = [each for each in service.lines() if each["status"] == 503]
    assert {each["request_id"] for each in lines} == ids
    assert len(ids) == len(lines) == 3
    assert {each["route"] for each in lines} == {ROUTE}
    labels = {"route": ROUTE, "method": "POST", "status": "503"}
    assert service.metrics.registry.get_sample_value("keyset_requests_total", labels) == 3


def test_the_connection_goes_on_and_the_next_request_is_taken(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port) as connection:
        connection.sendall(request())
        assert read_response(connection)[0] == 503
        connection.sendall(request() + request())
        both = b""
        while both.count(b'"request_id"') < 2:
            both += connection.recv(65536)
        assert both.count(b"HTTP/1.1 503 ") == 2
        service.refusal = None
        connection.sendall(request())
        assert read_response(connection)[0] == 201

    assert service.reached == ["one"]


def test_a_body_that_comes_slowly_is_thrown_away_first(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    message = request()
    with connect(service.port) as connection:
        connection.sendall(message[:-5])
        time.sleep(0.1)
        # It was decided by the head.
        service.refusal = None
        connection.sendall(message[-5:])
        assert read_response(connection)[0] == 503
        connection.sendall(request())
        assert read_response(connection)[0] == 201


def test_a_body_that_never_comes_is_cut_off(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port, timeout=5) as connection:
        connection.sendall(request()[:-5])
        assert connection.recv(1000) == b""


@pytest.mark.parametrize(
    ("head", "body", "path"),
    [
        pytest.param("Connection: close\r\n", BODY, "/courses/one/attempts", id="the last one"),
        pytest.param("Expect: 100-continue\r\n", b"", "/courses/one/attempts", id="expecting"),
        pytest.param("", b"x" * 70_000, "/courses/one/attempts", id="large"),
        pytest.param("", BODY, "/courses/one/attempts?x=1", id="with a query"),
    ],
)
def test_what_is_unusual_is_left_to_the_app(
    service: Overloaded, head: str, body: bytes, path: str
) -> None:
    service.refusal = Unavailable("Too much is waiting.")

    assert service.send(head, body, path)[0] == 503
    assert service.reached == ["one"]


def test_the_service_refuses_the_route_that_it_has(tmp_path: Path) -> None:
    with (
        fresh_url("sqlite", tmp_path) as url,
        closing(open_database(url)) as database,
        make_service(database) as world,
    ):
        app = world.client.app
        assert isinstance(app, FastAPI)
        routes = {(each.path, *(each.methods or ())) for each in iter_route_contexts(app.routes)}

    assert (SUBMIT_ROUTE, "POST") in routes


def test_other_calls_go_on(service: Overloaded) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port) as connection:
        connection.sendall(b"GET /courses/one/attempts HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_response(connection)[0] == 200
        connection.sendall(request(path="/courses/one/others"))
        assert read_response(connection)[0] == 404
