"""The turnstile: a few of those who come together enter in each turn of the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse

from grader.web.http.server import Deadlines
from grader.web.http.throttle import Throttle
from grader.web.http.turnstile import TURNSTILE, Turnstile
from tests.support.budgets import make_budgets
from tests.support.server import connect, read_all, read_response, serve

PER_TURN = 2


def make_turnstile(per_turn: int = PER_TURN) -> Turnstile:
    """One by which as many enter in a long turn as in a short one."""
    return Turnstile(per_turn, seconds_each=math.inf)


class Turns:
    """Counts the turns of the event loop that runs."""

    def __init__(self) -> None:
        self.number = 0
        self._tick()

    def _tick(self) -> None:
        self.number += 1
        self._handle = asyncio.get_running_loop().call_soon(self._tick)

    def end(self) -> None:
        self._handle.cancel()


def test_a_few_enter_in_a_turn_in_the_order_of_coming() -> None:
    entered: list[tuple[int, int]] = []

    async def come(turnstile: Turnstile, turns: Turns, number: int) -> None:
        await turnstile.enter()
        entered.append((turns.number, number))

    async def run() -> None:
        turns = Turns()
        await asyncio.gather(*(come(turnstile, turns, each) for each in range(7)))
        turns.end()

    turnstile = make_turnstile()
    asyncio.run(run())

    assert [number for _, number in entered] == list(range(7))
    assert max(Counter(turn for turn, _ in entered).values()) == PER_TURN


def test_newcomers_do_not_go_past_those_who_wait() -> None:
    entered: list[str] = []

    async def run() -> None:
        turnstile = make_turnstile(1)
        assert turnstile.may_enter()
        for name in ("first", "second"):
            turnstile.wait(partial(entered.append, name))
        await asyncio.sleep(0)
        assert entered == ["first"]
        assert not turnstile.may_enter(), "the turn belongs to the second"
        await asyncio.sleep(0)

    asyncio.run(run())

    assert entered == ["first", "second"]


def test_whoever_gives_up_waiting_keeps_nobody_from_entering() -> None:
    async def run() -> None:
        turnstile = make_turnstile(1)
        assert turnstile.may_enter()
        gone = asyncio.create_task(turnstile.enter())
        other = asyncio.create_task(turnstile.enter())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(other, 5)

    asyncio.run(run())


def test_in_a_long_turn_more_enter() -> None:
    entered: list[int] = []

    async def run() -> None:
        turnstile = Turnstile(1, seconds_each=0.01)
        assert turnstile.may_enter()
        for number in range(9):
            turnstile.wait(partial(entered.append, number))
        time.sleep(0.055)
        await asyncio.sleep(0)

    asyncio.run(run())

    assert 4 <= len(entered) <= 9


def test_whoever_fails_keeps_nobody_from_entering() -> None:
    entered: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        turnstile = make_turnstile(1)
        turnstile.wait(lambda: 1 / 0)
        turnstile.wait(partial(entered.append, "second"))
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(run())

    assert entered == ["second"]


def test_refusals_that_are_due_together_are_sent_in_turn() -> None:
    sent: list[int] = []

    async def refuse(held: Throttle, turns: Turns) -> None:
        scope = {"path": "/", "headers": [], "state": {}}
        await held.hold_back(scope, 429, [(b"retry-after", b"1")])
        sent.append(turns.number)

    async def run() -> None:
        held = Throttle(make_budgets(), refusal_seconds=0.01, turnstile=make_turnstile())
        turns = Turns()
        # The loop is kept busy until all of them are due.
        asyncio.get_running_loop().call_later(0.001, time.sleep, 0.05)
        await asyncio.gather(*(refuse(held, turns) for _ in range(9)))
        turns.end()

    asyncio.run(run())

    assert max(Counter(sent).values()) == PER_TURN


# At a real server


@dataclass
class Sample:
    """An app that notes in which turns of the event loop its requests begin."""

    turnstile: Turnstile = field(default_factory=make_turnstile)
    port: int = 0
    turns: Turns | None = None
    begun: list[int] = field(default_factory=list)
    is_busy: Event = field(default_factory=Event)
    may_go_on: Event = field(default_factory=Event)


@pytest.fixture
def sample() -> Iterator[Sample]:
    with run_sample() as found:
        yield found


@contextmanager
def run_sample(
    turnstile: Turnstile | None = None, deadlines: Deadlines | None = None
) -> Iterator[Sample]:
    found = Sample(turnstile or make_turnstile())

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        found.turns = Turns()
        yield {TURNSTILE: found.turnstile}
        found.turns.end()

    app = FastAPI(lifespan=run)

    @app.get("/busy")
    async def be_busy() -> int:
        # What arrives meanwhile is all there in the next turn.
        found.is_busy.set()
        found.may_go_on.wait(10)
        return 1

    @app.get("/turn")
    async def note_turn() -> int:
        assert found.turns is not None
        found.begun.append(found.turns.number)
        return 1

    @app.post("/early")
    async def answer_early(request: Request) -> int:
        found.is_busy.set()
        while not found.may_go_on.is_set():
            await asyncio.sleep(0.005)
        return 1

    @app.post("/digest")
    async def digest(request: Request) -> PlainTextResponse:
        return PlainTextResponse(hashlib.sha256(await request.body()).hexdigest())

    with serve(app, deadlines, is_started=False) as found.port:
        yield found


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


LAST = get("/turn").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


def test_of_many_requests_that_arrive_together_a_few_begin_in_a_turn(sample: Sample) -> None:
    with ExitStack() as stack:
        busy, *others = [stack.enter_context(connect(sample.port)) for _ in range(31)]
        busy.sendall(get("/busy"))
        sample.is_busy.wait(10)
        for each in others:
            each.sendall(get("/turn"))
        sample.may_go_on.set()
        assert [read_response(each)[0] for each in others] == [200] * 30

    assert max(Counter(sample.begun).values()) <= PER_TURN


def test_requests_that_are_sent_ahead_begin_a_few_in_a_turn(sample: Sample) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(connect(sample.port)) for _ in range(10)]
        for each in others:
            each.sendall(get("/turn") * 15 + LAST)
        assert [read_all(each).count(b"HTTP/1.1 200") for each in others] == [16] * 10

    assert max(Counter(sample.begun).values()) <= PER_TURN


def test_a_body_whose_pieces_wait_arrives_whole(sample: Sample) -> None:
    body = bytes(range(256)) * 8000
    head = f"POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with ExitStack() as stack:
        busy, upload, *others = [stack.enter_context(connect(sample.port)) for _ in range(22)]
        busy.sendall(get("/busy"))
        sample.is_busy.wait(10)
        for each in others:
            each.sendall(get("/turn"))
        sample.may_go_on.set()
        upload.sendall(head + body)
        status, told = read_response(upload)

    assert (status, told.decode()) == (200, hashlib.sha256(body).hexdigest())


def test_a_client_that_leaves_while_it_waits_harms_nobody(sample: Sample) -> None:
    with ExitStack() as stack:
        busy, *others = [stack.enter_context(connect(sample.port)) for _ in range(20)]
        busy.sendall(get("/busy"))
        sample.is_busy.wait(10)
        for each in others:
            each.sendall(get("/turn"))
        for each in others[:10]:
            each.close()
        sample.may_go_on.set()
        assert [read_response(each)[0] for each in others[10:]] == [200] * 9

    with connect(sample.port) as connection:
        connection.sendall(LAST)
        assert read_all(connection).startswith(b"HTTP/1.1 200")


class ShutTurnstile(Turnstile):
    """One that nobody passes until it is opened."""

    def __init__(self) -> None:
        super().__init__(seconds_each=math.inf)
        self.is_open = False
        self.held: list[tuple[asyncio.AbstractEventLoop, Callable[[], object]]] = []

    def may_enter(self) -> bool:
        return self.is_open

    def wait(self, enter: Callable[[], object]) -> None:
        self.held.append((asyncio.get_running_loop(), enter))

    def open(self) -> None:
        """Let everybody enter."""
        self.is_open = True
        for loop, enter in self.held:
            loop.call_soon_threadsafe(enter)


QUICK = Deadlines(head_seconds=0.2, body_seconds=0.2)


@pytest.mark.parametrize(
    ("before", "sent"),
    [
        pytest.param(b"", get("/turn"), id="a request"),
        pytest.param(
            b"POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", b"body", id="a body"
        ),
    ],
)
def test_whose_data_is_held_is_not_taken_for_a_slow_client(before: bytes, sent: bytes) -> None:
    turnstile = ShutTurnstile()
    with run_sample(turnstile, QUICK) as sample, connect(sample.port) as connection:
        if before:
            turnstile.is_open = True
            connection.sendall(before)
            time.sleep(0.05)
            turnstile.is_open = False
        connection.sendall(sent)
        time.sleep(0.5)
        turnstile.open()

        assert read_response(connection)[0] == 200


def test_what_is_held_when_the_server_stops_is_answered() -> None:
    turnstile = ShutTurnstile()
    with ExitStack() as stack:
        with run_sample(turnstile) as sample:
            others = [stack.enter_context(connect(sample.port)) for _ in range(20)]
            for each in others:
                each.sendall(get("/turn"))
            while len(turnstile.held) < 20:
                time.sleep(0.005)
        assert [read_all(each)[:12] for each in others] == [b"HTTP/1.1 200"] * 20


def test_who_is_refused_while_its_body_is_held_can_read_why() -> None:
    turnstile = ShutTurnstile()
    with run_sample(turnstile) as sample, connect(sample.port) as connection:
        turnstile.is_open = True
        head = "POST /early HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 8000000"
        connection.sendall(f"{head}\r\n\r\n".encode())
        sample.is_busy.wait(10)
        turnstile.is_open = False
        sending = threading.Thread(target=connection.sendall, args=(bytes(8_000_000),))
        sending.start()
        while not turnstile.held:
            time.sleep(0.005)
        sample.may_go_on.set()
        time.sleep(0.1)
        turnstile.open()
        sending.join(1.5)

        assert not sending.is_alive(), "what is left of the body is not thrown away"
        assert read_all(connection).startswith(b"HTTP/1.1 200")


def test_a_probe_waits_for_nobody() -> None:
    with run_sample(ShutTurnstile()) as sample, connect(sample.port) as connection:
        connection.sendall(get("/healthz"))

        assert read_response(connection)[0] == 404, "the sample has none, but says so"
