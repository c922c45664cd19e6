"""A proxy that loses what it should hand on, as networks do."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PASS = "pass"
#: The request arrives, and the response is thrown away together with the connection.
CUT = "cut after the response came"
#: The request is thrown away.
DROP = "cut before the request was handed on"
#: The request arrives, and nothing is ever said about it.
HANG = "hold the response back"


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    """What the proxy says by itself, without asking the service."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass(slots=True)
class Proxy:
    """What is done with each request to come, and the requests so far; then all is handed on."""

    port: int
    upstream: int
    plan: list[str | bytes] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def posts(self) -> list[bytes]:
        return [each for each in self.requests if each.startswith(b"POST") and b"/attempts" in each]

    def handle(self, client: socket.socket) -> None:
        with (
            client,
            socket.create_connection(("127.0.0.1", self.upstream)) as service,
            contextlib.suppress(OSError),
        ):
            while request := _read_message(client):
                self.requests.append(request)
                step = self.plan.pop(0) if self.plan else PASS
                if isinstance(step, bytes):
                    client.sendall(step)
                    continue
                if step == DROP:
                    return
                service.sendall(request)
                response = _read_message(service)
                if step == CUT:
                    return
                if step == PASS:
                    client.sendall(response)


@contextmanager
def run_proxy(upstream: int) -> Iterator[Proxy]:
    """A proxy before a service on a loopback port."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(listener.getsockname()[1], upstream)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=proxy.handle, args=[client], daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        # Closing alone would not wake up the thread that waits.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def header(request: bytes, name: str) -> str | None:
    """A header of a request; None where it has none."""
    for line in request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


def body(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


def _read_message(connection: socket.socket) -> bytes:
    """One request or response with its body; empty where the connection was closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head = data.partition(b"\r\n\r\n")[0]
    length = int(header(data, "Content-Length") or 0)
    while len(data) < len(head) + 4 + length:
        data += connection.recv(65536)
    return data
