"""Calls of the app without a server: how long they take, and what they ask of the database.

A request is compared with its own SQL statements on a bare cursor. It is also counted how many
statements there are, and how often the request waits for a thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
import orjson
from fastapi import FastAPI

from bench.statements import Statement, record_statements, run_statements
from grader.store.database import Database
from grader.web.service import Service


@dataclass(frozen=True, slots=True)
class Call:
    """A request: a GET, or with a body a POST of JSON."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.body is None else "POST"


@dataclass(frozen=True, slots=True)
class PageTiming:
    """The fastest of many turns, in seconds, and how much was asked and read."""

    page: float
    sql: float
    rows: int
    characters: int
    statements: int
    hops: int
    """How often the request waited for a thread."""

    @property
    def ratio(self) -> float:
        """The time of the page divided by that of its statements."""
        return self.page / self.sql


@dataclass(frozen=True, slots=True)
class Trace:
    """What one call did: its response, its SELECT statements, its thread hops."""

    text: str
    statements: tuple[Statement, ...]
    hops: int


async def call_app(app: FastAPI, call: Call) -> str:
    """Call the ASGI app directly, without a server; only 200 will do."""
    path, _, query = call.address.partition("?")
    body = b"" if call.body is None else orjson.dumps(call.body)
    headers = {**call.headers, **({"content-type": "application/json"} if body else {})}
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": call.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    text = b"".join(each.get("body", b"") for each in sent).decode()
    assert sent[0]["status"] == 200, text
    return text


@contextmanager
def record_hops() -> Iterator[list[str]]:
    """Record what is run in threads: readers, and those of anyio, where FastAPI runs the rest."""
    kept: list[str] = []
    run, read = anyio.to_thread.run_sync, Service.run_in_reader

    async def run_and_keep(work: Any, *arguments: Any, **options: Any) -> Any:
        kept.append(repr(work))
        return await run(work, *arguments, **options)

    async def read_and_keep(service: Service, work: Any, *arguments: Any) -> Any:
        kept.append(repr(work))
        return await read(service, work, *arguments)

    # FastAPI and Starlette look the function up for every call.
    anyio.to_thread.run_sync = run_and_keep  # type: ignore[assignment]  # any callable, as before
    Service.run_in_reader = read_and_keep  # type: ignore[assignment, method-assign]  # as before
    try:
        yield kept
    finally:
        anyio.to_thread.run_sync = run
        Service.run_in_reader = read  # type: ignore[method-assign]  # as it was


async def trace_call(app: FastAPI, database: Database, call: Call) -> Trace:
    """Call the app once, and record what the call does."""
    with record_statements(database) as statements, record_hops() as hops:
        text = await call_app(app, call)
    return Trace(text, tuple(statements), len(hops))


async def measure_call(app: FastAPI, database: Database, call: Call, *, turns: int) -> PageTiming:
    """Time a call and its statements, in turns, so that a slow moment affects both alike."""
    # The first call compiles templates and statements.
    await call_app(app, call)
    trace = await trace_call(app, database, call)
    page, bare, rows = float("inf"), float("inf"), 0
    for _ in range(turns):
        started = time.perf_counter()
        await call_app(app, call)
        page = min(page, time.perf_counter() - started)
        started = time.perf_counter()
        rows = run_statements(database, trace.statements)
        bare = min(bare, time.perf_counter() - started)
    return PageTiming(page, bare, rows, len(trace.text), len(trace.statements), trace.hops)
