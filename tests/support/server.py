"""A real server on a loopback port, and raw connections to it."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from grader.web.http.fast_path import FAST_ROUTES
from grader.web.http.server import DeadlineProtocol, Deadlines

#: How often a server looks whether it may end, for which a test waits.
_LOOK_SECONDS = 0.005


class _PromptServer(uvicorn.Server):
    """Uvicorn's server, which by itself looks every tenth of a second and ends after another."""

    async def main_loop(self) -> None:
        for tick in itertools.count():
            if await self.on_tick(tick):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        while state.connections or state.tasks:
            await asyncio.sleep(_LOOK_SECONDS)
        await self.lifespan.shutdown()


@contextmanager
def serve(
    app: FastAPI, deadlines: Deadlines | None = None, *, is_started: bool = True
) -> Iterator[int]:
    """Serve an app from another thread, as `grader serve` does, and give its port.

    An app of which a test has a client `is_started` already; any other is started here.
    """
    chosen = deadlines or Deadlines()

    class Protocol(DeadlineProtocol):
        deadlines = chosen

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if is_started:
                # What an app leaves to requests when it starts went to the test's client.
                self.app_state[FAST_ROUTES] = getattr(app.state, "fast_routes", ())

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off" if is_started else "on",
    )
    server = _PromptServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "it could not start"
        time.sleep(0.005)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@contextmanager
def connect(port: int, timeout: float = 10.0) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pieces.append(b"(reset)")
    return b"".join(pieces)


def read_response(connection: socket.socket) -> tuple[int, bytes]:
    """One response with a Content-Length: its status and its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        assert piece, f"the connection was closed after {data!r}"
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        int(line.partition(b":")[2])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    whole = bytearray(body)
    while len(whole) < lengths[0]:
        whole += connection.recv(65536)
    return int(head.split()[1]), bytes(whole)


def status_of(response: bytes) -> int:
    return int(response.split()[1])
