"""A client of an app in this process, for the many requests of tests."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import anyio
from fastapi.testclient import TestClient
from httpx2 import BaseTransport, Request, Response
from starlette.types import Message


class AppClient(TestClient):
    """Starlette's client with a shorter way to the app.

    A request crosses between the threads of test and app once, instead of eight times, which took
    longer than most requests themselves. A response is whole when it is returned.
    """

    def __init__(self, *arguments: Any, beside: TestClient | None = None, **options: Any) -> None:
        """Make a client; it uses the event loop of the client that it is `beside`, if any."""
        super().__init__(*arguments, **options)
        self._transport = _AppTransport(self)
        if beside is not None:
            self.portal = beside.portal


class _AppTransport(BaseTransport):
    def __init__(self, client: TestClient) -> None:
        self._client = client

    def handle_request(self, request: Request) -> Response:
        url, body, client = request.url, request.read(), self._client
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "path": unquote(url.path),
            "raw_path": url.raw_path.partition(b"?")[0],
            "root_path": "",
            "scheme": url.scheme,
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("testclient", 50000),
            "server": [url.host, url.port or {"http": 80, "https": 443}[url.scheme]],
            "state": client.app_state.copy(),
        }
        with client._portal_factory() as portal:
            start, content = portal.call(_exchange, client.app, scope, body)
        if request.method == "HEAD":
            content = b""
        return Response(start["status"], headers=start["headers"], content=content)


async def _exchange(app: Any, scope: dict[str, Any], body: bytes) -> tuple[Message, bytes]:
    """Run the app for one request, as a server would."""
    is_complete = anyio.Event()
    start: Message = {}
    content = bytearray()
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        await is_complete.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            assert not start, "a response starts once"
            start.update(message)
        else:
            assert message["type"] == "http.response.body", message
            assert start, "a response starts before its body"
            assert not is_complete.is_set(), "a response ends once"
            content.extend(message.get("body", b""))
            if not message.get("more_body", False):
                is_complete.set()

    await app(scope, receive, send)
    assert is_complete.is_set(), "the app has responded"
    return start, bytes(content)
