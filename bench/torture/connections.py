"""A connection that sends requests byte for byte, so that the last byte can be held back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

#: More than any response may take.
_TIMEOUT_SECONDS = 60.0


class Response(NamedTuple):
    """A response as it came; its head is in lower case."""

    status: int
    head: bytes
    body: bytes

    def get_header(self, name: str) -> str:
        """A header; empty where there is none."""
        rest = self.head.partition(f"\r\n{name}: ".encode())[2]
        return rest.partition(b"\r\n")[0].decode()

    def decode(self) -> Any:
        """The JSON of its body."""
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a server on loopback, for one request after the other."""

    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    @staticmethod
    async def open(port: int, address: str = "") -> Connection:
        """Connect, from another address of loopback if one is given; OSError if nobody listens."""
        local = (address, 0) if address else None
        return Connection(*await asyncio.open_connection("127.0.0.1", port, local_addr=local))

    def send(self, data: bytes) -> None:
        """Send a request or a part of it."""
        self._writer.write(data)

    async def receive(self) -> Response:
        """The next response.

        Raises
        ------
        OSError, EOFError
            Where the server has gone; TimeoutError, which is an OSError, where it is silent.
        """
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            response = Response(int(head[9:12]), head, b"")
            length = int(response.get_header("content-length") or 0)
            return response._replace(body=await self._reader.readexactly(length))

    async def ask(self, request: bytes) -> Response:
        """Send a request and wait for its response."""
        self.send(request)
        return await self.receive()

    def close(self) -> None:
        """Close it without a farewell."""
        self._writer.transport.abort()
