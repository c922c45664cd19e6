"""The protocol: whoever is slow or too much is cut off, and nobody else notices."""

from __future__ import annotations

import asyncio
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from grader.web.http.server import Deadlines
from tests.support.sample_app import make_sample
from tests.support.server import connect, read_all, read_response, serve, status_of

QUICK = Deadlines(head_seconds=0.6, body_seconds=1.5, linger_seconds=0.3, write_seconds=0.6)
GET = b"GET /api/v1/when HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_GET = b"GET /api/v1/when HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    router = APIRouter()

    @router.get("/large")
    def send_much() -> Response:
        return Response(b"x" * 30_000_000)

    @router.post("/early")
    async def answer_early(request: Request) -> int:
        return 1

    @router.post("/patient")
    async def wait_for_body(request: Request) -> int:
        return len(await request.body())

    @router.get("/pieces")
    def send_pieces() -> StreamingResponse:
        return StreamingResponse(iter([b"one ", b"two ", b"three"]))

    @router.get("/broken")
    def break_off() -> StreamingResponse:
        return StreamingResponse(_fail())

    with serve(make_sample(router).app, QUICK) as port:
        yield port


def _fail() -> Iterator[bytes]:
    for place in range(1, -1, -1):
        yield b"x" * (1 // place)


def test_a_connection_serves_several_requests(port: int) -> None:
    with connect(port) as connection:
        for _ in range(3):
            connection.sendall(GET)
            assert read_response(connection)[0] == 200
            time.sleep(0.1)


def test_a_connection_may_rest_longer_than_a_head_may_take(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET)
        assert read_response(connection)[0] == 200
        time.sleep(QUICK.head_seconds * 1.5)
        connection.sendall(GET)
        assert read_response(connection)[0] == 200


def test_requests_may_be_sent_ahead(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET + GET + LAST_GET)
        answers = read_all(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 3


def test_who_sends_too_much_ahead_gets_the_first_answers_and_is_told_that_it_ends(
    port: int,
) -> None:
    most = QUICK.most_pipelined
    with connect(port) as connection:
        connection.sendall(GET * (most + 200))
        answers = read_all(connection)

    # The one that was being answered, and those behind it.
    assert answers.count(b"HTTP/1.1 200 OK") == most + 1
    assert answers.count(b"connection: close") == 1
    assert not answers.endswith(b"(reset)")


def test_as_many_as_may_be_sent_ahead_can_be_sent_again_and_again(port: int) -> None:
    most = QUICK.most_pipelined
    with connect(port) as connection:
        for _ in range(5):
            connection.sendall(GET * most)
            answers = b""
            while answers.count(b"HTTP/1.1 200 OK") < most or not answers.endswith(b'Z"'):
                answers += connection.recv(65536)


def test_a_hundred_who_send_ahead_and_never_read_hold_up_nobody_and_leave_no_defect() -> None:
    router = APIRouter()

    @router.get("/large")
    async def send_much() -> Response:
        return Response(b"x" * 1_000_000)

    sample = make_sample(router)
    with serve(sample.app, QUICK) as port, ExitStack() as stack:
        small = [stack.enter_context(_send_ahead(port, "/api/v1/when")) for _ in range(100)]
        large = [stack.enter_context(_send_ahead(port, "/large")) for _ in range(10)]
        with connect(port) as other:
            for _ in range(50):
                other.sendall(GET)
                assert read_response(other)[0] == 200
        # These are cut in the middle of an answer, the others after the last of theirs.
        for attacker in large:
            _wait_until_cut(attacker)
        for attacker in small:
            read_all(attacker)

    requests = [line for line in sample.lines() if line["event"] == "request"]
    assert {line["event"] for line in sample.lines()} == {"request"}
    assert len(requests) <= 50 + len(small + large) * (QUICK.most_pipelined + 1)


@contextmanager
def _send_ahead(port: int, path: str) -> Iterator[socket.socket]:
    """A client that sends thousands of requests and does not read."""
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.settimeout(0)
        with suppress(BlockingIOError, ConnectionResetError, BrokenPipeError):
            for _ in range(20):
                connection.send(request * 5000)
        connection.settimeout(10)
        yield connection


def _wait_until_cut(connection: socket.socket) -> None:
    """Wait, without reading anything, until the server has closed a connection."""
    poll = select.poll()
    # Errors and the end are told without being asked for.
    poll.register(connection, 0)
    assert poll.poll(10_000), "it was not cut"


def test_a_response_without_a_body_is_sent_at_once(port: int) -> None:
    head = GET.replace(b"GET", b"HEAD")
    with connect(port) as connection:
        connection.sendall(head + head + LAST_GET.replace(b"GET", b"HEAD"))
        answers = read_all(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.endswith(b"\r\n\r\n")


def test_who_expects_it_is_told_to_continue_before_the_response(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(
            b"POST /patient HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
            b"Expect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"12345")
        answer = read_all(connection)

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"\r\n\r\n5")


def test_a_response_in_pieces_comes_whole(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(LAST_GET.replace(b"/api/v1/when", b"/pieces"))
        answer = read_all(connection)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b"4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"


def test_a_response_that_breaks_off_is_not_taken_for_whole(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET.replace(b"/api/v1/when", b"/broken"))
        answer = read_all(connection)

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert not answer.endswith(b"0\r\n\r\n")


def test_slow_heads_are_cut_while_others_are_served(port: int) -> None:
    began = time.monotonic()
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(port)) for _ in range(60)]
        for connection in slow:
            connection.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n")
        served = 0
        while time.monotonic() - began < QUICK.head_seconds * 0.8:
            for connection in slow:
                connection.sendall(b"X-A: b\r\n")
            with connect(port, timeout=2) as quick:
                quick.sendall(LAST_GET)
                served += status_of(read_all(quick)) == 200
            time.sleep(0.05)
        answers = [read_all(connection) for connection in slow]

    assert served >= 3
    assert {status_of(answer) for answer in answers} == {408}
    assert all(b"headers.slow" in answer for answer in answers)
    assert time.monotonic() - began < 5


def test_any_number_of_slow_clients_leaves_room_for_a_quick_one() -> None:
    few = Deadlines(most_connections=20)
    with serve(make_sample().app, few) as port, ExitStack() as stack:
        slow = []
        for _ in range(20):
            for _ in range(5):
                slow.append(stack.enter_context(connect(port, timeout=3)))
                slow[-1].sendall(b"GET /api/v1/when HTTP/1.1\r\n")
            with connect(port, timeout=3) as quick:
                quick.sendall(LAST_GET)
                assert status_of(read_all(quick)) == 200

        # Those who have waited longest had to go, long before their time for the head was up.
        assert {read_all(connection) for connection in slow[:75]} <= {b"", b"(reset)"}


def test_a_request_that_is_being_answered_is_never_given_up_for_another() -> None:
    router = APIRouter()

    @router.get("/long")
    async def think() -> str:
        await asyncio.sleep(0.6)
        return "done"

    few = Deadlines(most_connections=5)
    with serve(make_sample(router).app, few) as port, ExitStack() as stack:
        patient = stack.enter_context(connect(port))
        patient.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        for _ in range(20):
            stack.enter_context(connect(port)).sendall(b"GET")

        assert status_of(read_all(patient)) == 200


def test_a_second_request_has_the_same_time_for_its_head(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET)
        read_response(connection)
        connection.sendall(b"GET /api/x HT")

        assert status_of(read_all(connection)) == 408


def test_empty_lines_do_not_hold_a_connection(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET)
        read_response(connection)

        assert seconds_until_cut(connection, b"\r\n") < 3


def seconds_until_cut(connection: socket.socket, drop: bytes) -> float:
    """How long a client can hold its connection that sends a little now and then."""
    began = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() - began < 5:
        try:
            connection.sendall(drop)
            if not connection.recv(10_000):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


def test_a_silent_connection_is_closed_without_a_word(port: int) -> None:
    with connect(port) as connection:
        assert read_all(connection) == b""


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"X-Long: " + b"a" * 70_000 + b"\r\n\r\n", id="one header, complete"),
        pytest.param(b"X-Long: " + b"a" * 3_000_000, id="one header without an end"),
        pytest.param(b"X-A: b\r\n" * 12_000, id="headers without an end"),
    ],
)
def test_a_large_head_is_refused(port: int, head: bytes) -> None:
    check_refused(port, b"GET /api HTTP/1.1\r\nHost: x\r\n" + head)


def test_a_long_address_is_refused(port: int) -> None:
    check_refused(port, b"GET /api/" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")


def check_refused(port: int, head: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(head)
        answer = read_all(connection)

    assert status_of(answer) == 431
    assert b"headers.too_large" in answer


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"GET /api/\xff HTTP/1.1\r\nHost: x\r\n\r\n", id="raw bytes in the address"),
        pytest.param(b"GET /api HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", id="NUL in a header"),
        pytest.param(
            b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            id="two lengths",
        ),
        pytest.param(
            b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="length and chunks",
        ),
        pytest.param(
            b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
            id="a length beyond counting",
        ),
    ],
)
def test_what_is_not_http_is_refused_with_a_problem(port: int, request_: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(request_)
        answer = read_all(connection)

    assert status_of(answer) == 400
    assert b"http.invalid" in answer


def test_a_wish_for_another_protocol_is_ignored(port: int) -> None:
    wish = b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with connect(port) as connection:
        connection.sendall(b"GET /api/v1/when HTTP/1.1\r\nHost: x\r\n" + wish)

        assert read_response(connection)[0] == 200


@pytest.mark.parametrize(("path", "most_seconds"), [("/early", 1.2), ("/patient", 4)])
def test_a_slow_body_cannot_hold_a_connection(port: int, path: str, most_seconds: float) -> None:
    with connect(port) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode())

        assert seconds_until_cut(connection, b"x") < most_seconds


def test_endless_trailers_are_cut(port: int) -> None:
    head = b"POST /api/v1/anything HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    sent = 0
    with connect(port) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: ")
        try:
            while sent < 20_000_000:
                connection.sendall(b"a" * 65536)
                sent += 65536
        except OSError:
            pass

    assert sent < 20_000_000


def test_a_client_that_does_not_read_is_cut_off(port: int) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(QUICK.write_seconds * 2)
        answer = read_all(connection)

    assert len(answer) < 30_000_000


def test_a_client_that_reads_gets_all_and_keeps_its_connection(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len(read_response(connection)[1]) == 30_000_000
        time.sleep(QUICK.write_seconds * 1.5)
        connection.sendall(GET)

        assert read_response(connection)[0] == 200
