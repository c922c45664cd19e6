"""The fast path: plain requests are answered as by the app, and those without room at once."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from threading import Event
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response

from grader.errors import RequestRefused, Unavailable
from grader.web.errors.problems import install_problems
from grader.web.http.fast_path import FAST_ROUTES, Exchange, FastRequest, FastResponse, FastRoute
from grader.web.http.middleware import install_middleware
from grader.web.http.server import Deadlines
from grader.web.http.turnstile import TURNSTILE, Turnstile
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import Metrics, open_metrics
from tests.support.budgets import make_throttle
from tests.support.sample_app import NOW
from tests.support.server import connect, read_all, read_response, serve

ROUTE = "/api/courses/{course}/attempts"
PATH = ROUTE.format(course="one")
BODY = b'{"answer": 1}'
QUICK = Deadlines(head_seconds=5, body_seconds=0.5, linger_seconds=0.3, write_seconds=2)


@dataclass
class Sample:
    """An app with a fast path, and which requests took it.

    A body says what becomes of its request: it is refused, fails, is left to the app, or is held
    until the test lets it go.
    """

    port: int = 0
    refusal: Unavailable | None = None
    fast: list[str] = field(default_factory=list)
    by_app: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    held: list[asyncio.Future[str]] = field(default_factory=list)
    is_busy: Event = field(default_factory=Event)
    may_go_on: Event = field(default_factory=Event)
    log: io.StringIO = field(default_factory=io.StringIO)
    metrics: Metrics = field(default_factory=open_metrics)

    def send(self, head: str = "", body: bytes = BODY, path: str = PATH) -> Any:
        """The status, headers and body of the answer to one request on a connection of its own."""
        with connect(self.port) as connection:
            connection.sendall(request(head, body, path))
            answer = HTTPResponse(connection)
            answer.begin()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def release(self) -> None:
        """Let go of the one request that is held."""
        wait_until(lambda: bool(self.held))
        future = self.held.pop()
        future.get_loop().call_soon_threadsafe(future.set_result, "held")


def request(head: str = "", body: bytes = BODY, path: str = PATH) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{head}\r\n"
    )
    return lines.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + 5
    while not is_so():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.005)


def act(body: bytes) -> None:
    """Do what a body says, on either path."""
    if body == b'"refuse"':
        raise RequestRefused("Not now.", code="attempts.none_left")
    if body == b'"fail"':
        raise ZeroDivisionError


@dataclass
class SampleExchange:
    future: asyncio.Future[str]
    caller: str | None = "ada"

    def respond(self, result: str) -> FastResponse:
        if result == "broken":
            raise ZeroDivisionError
        return FastResponse(201, json.dumps(result).encode(), {"Location": "/somewhere"})


class SampleRoute(FastRoute):
    def __init__(self, sample: Sample, logs: Any) -> None:
        super().__init__(
            ROUTE, clock=lambda: NOW, logs=logs, metrics=sample.metrics, is_https=False
        )
        self._sample = sample

    def find_refusal(self) -> Unavailable | None:
        return self._sample.refusal

    def begin(self, request: FastRequest) -> Exchange | None:
        body = bytes(request.body)
        if body == b'"leave"':
            return None
        self._sample.fast.append(request.parameters["course"])
        self._sample.begun.append("POST")
        act(body)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        match body:
            case b'"hold"':
                self._sample.held.append(future)
            case b'"fail later"':
                future.set_exception(ZeroDivisionError())
            case b'"broken"':
                future.set_result("broken")
            case _:
                future.set_result("taken")
        return SampleExchange(future)


@pytest.fixture
def service() -> Iterator[Sample]:
    found = Sample()
    logs = open_logs(found.log, pretty=False)

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        yield {FAST_ROUTES: [SampleRoute(found, logs)], TURNSTILE: Turnstile()}

    app = FastAPI(lifespan=run)

    @app.post(ROUTE)
    async def take(course: str, request: Request) -> Response:
        found.by_app.append(course)
        found.begun.append("POST")
        body = await request.body()
        if found.refusal is not None:
            raise found.refusal
        act(body)
        return Response(b'"taken"', 201, {"Location": "/somewhere"}, media_type="application/json")

    @app.get(ROUTE)
    async def show(course: str) -> int:
        found.begun.append("GET")
        return 1

    @app.get("/busy")
    async def be_busy() -> int:
        # What arrives meanwhile is all there in the next turn.
        found.is_busy.set()
        found.may_go_on.wait(10)
        return 1

    install_problems(app)
    throttle = make_throttle()
    install_middleware(app, clock=lambda: NOW, logs=logs, metrics=found.metrics, throttle=throttle)
    with serve(app, QUICK, is_started=False) as found.port:
        yield found


def compare(service: Sample, body: bytes) -> tuple[Any, Any]:
    """What both paths answer, less what is different in every response."""
    fast, by_app = service.send(body=body), service.send("X-Request-Id: mine\r\n", body)
    assert (service.fast, service.by_app) == (["one"], ["one"])
    return _strip(fast), _strip(by_app)


def _strip(answer: Any) -> Any:
    status, headers, body = answer
    told = json.loads(body)
    if isinstance(told, dict):
        assert told.pop("request_id") == headers["x-request-id"]
    unlike = {"x-request-id", "content-length", "date"}
    return status, {name: each for name, each in headers.items() if name not in unlike}, told


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(BODY, 201, id="taken"),
        pytest.param(b'"refuse"', 409, id="refused"),
        pytest.param(b'"fail"', 500, id="a defect"),
    ],
)
def test_both_paths_answer_alike(service: Sample, body: bytes, status: int) -> None:
    fast, by_app = compare(service, body)

    assert fast == by_app
    assert fast[0] == status


@pytest.mark.parametrize("body", [b'"fail"', b'"fail later"', b'"broken"'])
def test_a_defect_is_logged_and_answered_wherever_it_is(service: Sample, body: bytes) -> None:
    status, _, told = service.send(body=body)

    assert (status, json.loads(told)["code"]) == (500, "service.defect")
    assert [each["event"] for each in service.lines()] == ["defect", "request"]


def test_what_the_fast_path_leaves_comes_to_the_app_whole(service: Sample) -> None:
    assert service.send(body=b'"leave"')[0] == 201
    assert (service.fast, service.by_app) == ([], ["one"])


def test_requests_behind_one_that_is_held_wait_for_it(service: Sample) -> None:
    with connect(service.port) as connection:
        connection.sendall(request(body=b'"hold"') + request())
        service.release()
        answers = b""
        while answers.count(b"HTTP/1.1 201") < 2:
            answers += connection.recv(65536)

    assert answers.index(b'"held"') < answers.index(b'"taken"')


def test_a_client_that_is_gone_harms_nobody(service: Sample) -> None:
    with connect(service.port) as connection:
        connection.sendall(request(body=b'"hold"'))
        wait_until(lambda: bool(service.held))
    service.release()

    assert service.send()[0] == 201
    wait_until(lambda: len(service.lines()) == 2)
    assert [each["status"] for each in service.lines()] == [201, 201]


def test_a_server_that_stops_answers_what_it_has_begun() -> None:
    sample = Sample()
    logs = open_logs(sample.log, pretty=False)

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        yield {FAST_ROUTES: [SampleRoute(sample, logs)]}

    with serve(FastAPI(lifespan=run), QUICK, is_started=False) as sample.port:
        connection = connect(sample.port)
        opened = connection.__enter__()
        opened.sendall(request(body=b'"hold"'))
        wait_until(lambda: bool(sample.held))
        future = sample.held.pop()
        # It is let go after the server was told to stop, which happens at the end of this block.
        future.get_loop().call_soon_threadsafe(
            lambda: future.get_loop().call_later(0.5, future.set_result, "held")
        )
    answer = read_all(opened)
    connection.__exit__(None, None, None)

    assert answer.startswith(b"HTTP/1.1 201")
    assert b"\r\nconnection: close\r\n" in answer
    assert answer.endswith(b'"held"')


def test_it_goes_past_everything_else_that_arrives_with_it(service: Sample) -> None:
    with ExitStack() as stack:
        busy, *others, last = [stack.enter_context(connect(service.port)) for _ in range(42)]
        for each in (busy, *others, last):
            # The loop accepts one connection in a turn.
            each.sendall(get(PATH))
            read_response(each)
        service.begun.clear()
        busy.sendall(get("/busy"))
        service.is_busy.wait(10)
        for each in others:
            each.sendall(get(PATH))
        last.sendall(request())
        service.may_go_on.set()
        assert [read_response(each)[0] for each in (last, *others)] == [201] + 40 * [200]

    assert service.begun.index("POST") < 10, "it came after forty others"


def test_without_room_it_is_refused_as_the_app_would(service: Sample) -> None:
    service.refusal = Unavailable("Too much is waiting.", retry_after_seconds=7)

    early, by_app = _strip(service.send()), _strip(service.send("X-Request-Id: mine\r\n"))

    assert (service.fast, service.by_app) == ([], ["one"]), "only the second one came to the app"
    # The text is made once for all addresses.
    assert by_app[2].pop("instance") == PATH
    assert early == by_app
    assert (early[0], early[1]["retry-after"]) == (503, "7")


def test_it_is_logged_and_counted_and_has_an_id_of_its_own(service: Sample) -> None:
    service.refusal = Unavailable("Too much is waiting.")

    ids = {service.send()[1]["x-request-id"] for _ in range(3)}

    lines = [each for each in service.lines() if each["status"] == 503]
    assert {each["request_id"] for each in lines} == ids
    assert len(ids) == len(lines) == 3
    assert {each["route"] for each in lines} == {ROUTE}
    labels = {"route": ROUTE, "method": "POST", "status": "503"}
    assert service.metrics.registry.get_sample_value("keyset_requests_total", labels) == 3


def test_the_connection_goes_on_and_the_next_request_is_taken(service: Sample) -> None:
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

    assert (service.fast, service.by_app) == (["one"], [])


def test_a_body_that_comes_slowly_is_thrown_away_first(service: Sample) -> None:
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


def test_a_body_that_never_comes_is_cut_off(service: Sample) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port, timeout=5) as connection:
        connection.sendall(request()[:-5])
        assert connection.recv(1000) == b""


@pytest.mark.parametrize(
    ("head", "body", "path"),
    [
        pytest.param("Connection: close\r\n", BODY, PATH, id="the last one"),
        pytest.param("Expect: 100-continue\r\n", BODY, PATH, id="expecting"),
        pytest.param("", b"x" * 70_000, PATH, id="large"),
        pytest.param("", BODY, "/api/courses/one/attempts?x=1", id="with a query"),
        pytest.param("", BODY, "/api/courses/%6fne/attempts", id="escaped"),
        pytest.param("Host: y\r\n", BODY, PATH, id="a header twice"),
        pytest.param("Content-Encoding: gzip\r\n", BODY, PATH, id="encoded"),
        pytest.param(
            "".join(f"X-{n}: a\r\n" for n in range(40)),
            BODY,
            PATH,
            id="many",
        ),
    ],
)
def test_what_is_unusual_is_left_to_the_app(
    service: Sample, head: str, body: bytes, path: str
) -> None:
    assert service.send(head, body, path)[0] == 201
    assert (service.fast, service.by_app) == ([], ["one"])

    service.refusal = Unavailable("Too much is waiting.")
    assert service.send(head, body, path)[0] == 503, "by the app or not"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("Connection: keep-alive\r\n", id="as clients say"),
        pytest.param("ACCEPT: */*\r\nuser-agent: x\r\n", id="other headers"),
    ],
)
def test_without_room_what_is_usual_is_not_parsed(
    service: Sample, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.send(head)[0] == 201
    service.refusal = Unavailable("Too much is waiting.")
    monkeypatch.setattr(SampleRoute, "match", None)

    assert service.send(head)[0] == 503


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(request().replace(b"Length: 13", b"Length: 12"), id="too short a length"),
        pytest.param(request("Content-Length: 13\r\n"), id="two lengths"),
        pytest.param(request(" Content-Length: 13\r\n"), id="a folded line"),
        pytest.param(request().replace(b"HTTP/1.1", b"HTTP/9.9"), id="no such version"),
    ],
)
def test_without_room_what_is_malformed_is_the_parsers(service: Sample, message: bytes) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port) as connection:
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)

    assert answer.count(b"HTTP/1.1 400 ") == 1


def test_another_type_of_body_is_left_to_the_app(service: Sample) -> None:
    with connect(service.port) as connection:
        connection.sendall(request().replace(b"application/json", b"application/csv"))
        assert read_response(connection)[0] == 201

    assert (service.fast, service.by_app) == ([], ["one"])


def test_other_calls_go_on(service: Sample) -> None:
    service.refusal = Unavailable("Too much is waiting.")
    with connect(service.port) as connection:
        connection.sendall(b"GET /api/courses/one/attempts HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_response(connection)[0] == 200
        connection.sendall(request(path="/api/courses/one/others"))
        assert read_response(connection)[0] == 404
