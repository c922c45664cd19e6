"""The fast path: plain requests to a busy route, which the server answers without the app.

At a deadline nearly every request is a program's POST of an answer. The scope, task, layers and
response objects of an ASGI app would take as long as everything else about it. So the server hands
such a request over as soon as it is complete, and writes the response in one piece. A request that
is unusual in any way is left to the app, which answers it in the same way.
"""

from __future__ import annotations

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from grader.errors import KeysetError, NotSignedIn, TooManyRequests, Unavailable
from grader.web.errors.model import MEDIA_TYPE, Problem, render_problem
from grader.web.errors.problems import build_error_headers, make_defect_problem, to_problem
from grader.web.http.costly import LARGE_BODY_BYTES
from grader.web.http.hosts import KnownHosts
from grader.web.http.middleware import (
    Clock,
    Header,
    list_usual_headers,
    make_request_id,
    tell_request,
)
from grader.web.http.throttle import INVALID_CREDENTIAL_SECONDS, draw_delay
from grader.web.ops.logs import Logger
from grader.web.ops.metrics import Metrics
from grader.web.params import MAX_NAME_LENGTH

#: Where the server finds the routes, in the state that the app's lifespan leaves to all requests.
FAST_ROUTES = "keyset.fast_routes"

_JSON = "application/json"
_MOST_HEADERS = 40
#: A request with any of these headers is left to the app.
_UNUSUAL = {b"x-request-id", b"expect", b"transfer-encoding", b"content-encoding"}
#: What stands for the id of a request in the text of a refusal.
_ID = b"0" * 24
_HEAD_END = b"\r\n\r\n"
#: A line of a head, in small letters, with which a request is left to the parser and to the app.
_UNUSUAL_LINE = re.compile(
    rb"\n(?:[\t ]|x-request-id|expect|(?:transfer|content)-encoding|connection:(?! keep-alive\r))"
)
_LENGTH_LINE = re.compile(rb"\ncontent-length: (\d{1,6})\r")


@dataclass(slots=True)
class FastRequest:
    """A plain request whose head has arrived; `parameters` are those of its path.

    `address` is that of its connection, which may be a proxy's.
    """

    path: str
    parameters: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    address: str
    received_at: datetime
    refusal: Unavailable | None
    """Why it is refused as soon as its body has arrived."""
    began: float = field(default_factory=time.perf_counter)
    request_id: str = field(default_factory=make_request_id)
    body: bytearray = field(default_factory=bytearray)


class FastResponse(NamedTuple):
    """A response with its own headers."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    media_type: str = _JSON


class Exchange(Protocol):
    """A request that is being answered."""

    @property
    def future(self) -> asyncio.Future[Any]:
        """The result that the response is made of."""

    @property
    def caller(self) -> str | None:
        """Who sent the request, by an opaque id, once that is known."""

    def respond(self, result: Any) -> FastResponse:
        """The response, by the result of the future."""


class FastRoute(ABC):
    """The POSTs to one route.

    Parameters
    ----------
    route
        The template of the route's path.
    most_body_bytes
        Requests with a larger body are left to the app.
    refusal_seconds
        How late at most a refusal is sent to somebody who calls too often, or whom nobody knows.
    """

    def __init__(
        self,
        route: str,
        *,
        clock: Clock,
        logs: Logger,
        metrics: Metrics,
        is_https: bool,
        hosts: KnownHosts | None = None,
        most_body_bytes: int = LARGE_BODY_BYTES,
        refusal_seconds: float = 0.0,
    ) -> None:
        self._route = route
        # Names with escaped characters, and names that are too long, are left to the app.
        name = rf"(?P<\1>[\\w.~-]{{1,{MAX_NAME_LENGTH}}})"
        pattern = re.sub(r"\{(\w+)\}", name, route)
        self._pattern = re.compile(pattern, re.ASCII)
        self._first_line = re.compile(f"POST {pattern} HTTP/1\\.1\r\n".encode())
        self._clock = clock
        self._logs = logs
        self._metrics = metrics
        self._hosts = hosts
        self._most_body_bytes = min(most_body_bytes, LARGE_BODY_BYTES)
        self._refusal_seconds = refusal_seconds
        self._usual = _render_headers(list_usual_headers(is_https=is_https))
        self._refusals: dict[str, bytes] = {}

    @abstractmethod
    def find_refusal(self) -> Unavailable | None:
        """Why there is no room for a request at the moment; None where there is."""

    @abstractmethod
    def begin(self, request: FastRequest) -> Exchange | None:
        """Begin to answer a complete request; None leaves it to the app.

        Raises
        ------
        KeysetError
            Where it is refused at once.
        """

    def match(
        self, method: bytes, url: bytes, headers: Sequence[Header], address: str
    ) -> FastRequest | None:
        """The request with this head; None leaves it to the app."""
        if method != b"POST":
            return None
        path, sent = url.decode("latin-1"), dict(headers)
        matched = self._pattern.fullmatch(path)
        if matched is None or len(sent) != len(headers) or not self._are_plain(sent):
            return None
        return FastRequest(
            path, matched.groupdict(), sent, address, self._clock(), self.find_refusal()
        )

    def _are_plain(self, headers: Mapping[bytes, bytes]) -> bool:
        length = headers.get(b"content-length", b"")
        return (
            len(headers) <= _MOST_HEADERS
            and headers.get(b"content-type") == _JSON.encode()
            and length.isdigit()
            and len(length) < 8
            and int(length) <= self._most_body_bytes
            and _UNUSUAL.isdisjoint(headers)
            and (self._hosts is None or self._hosts.has(headers.get(b"host", b"")))
        )

    def get_delay(self, outcome: object) -> float:
        """How many seconds a response waits before it is composed and sent."""
        match outcome:
            case TooManyRequests():
                return draw_delay(outcome.retry_after_seconds, self._refusal_seconds)
            case NotSignedIn():
                return draw_delay(INVALID_CREDENTIAL_SECONDS, self._refusal_seconds)
            case _:
                return 0.0

    def compose(
        self,
        request: FastRequest,
        exchange: Exchange | None,
        outcome: object,
        server_headers: Sequence[Header],
    ) -> bytes:
        """The whole response to a request, by the result or the error of its exchange.

        It is logged and counted like any other.
        """
        try:
            response = self._respond(request, exchange, outcome)
        except Exception as error:
            # Whoever waits for a response must get one.
            response = self._respond(request, None, error)
        seconds = time.perf_counter() - request.began
        self._tell(
            response.status, request.request_id, seconds, exchange.caller if exchange else None
        )
        rest = self._render(response, request.request_id)
        return STATUS_LINE[response.status] + _render_headers(server_headers) + rest

    def _respond(
        self, request: FastRequest, exchange: Exchange | None, outcome: object
    ) -> FastResponse:
        match outcome:
            case KeysetError():
                return _respond_with_problem(
                    request, to_problem(outcome), build_error_headers(outcome)
                )
            case BaseException():
                self._logs.error("defect", request_id=request.request_id, error=outcome)
                return _respond_with_problem(request, make_defect_problem(), {})
            case _:
                assert exchange is not None, "it has a result"
                return exchange.respond(outcome)

    def refuse(self, data: bytes, server_headers: Sequence[Header]) -> bytes | None:
        """The whole response to a plain request that arrives in one piece while there is no room.

        At twice the rate that the service can carry, every second request is refused, and takes
        time from those that are accepted. So it is not even parsed. None leaves it to the parser.
        """
        refusal = self.find_refusal()
        if refusal is None or not self.is_plain(data):
            return None
        return self._compose_refusal(refusal, make_request_id(), 0.0, server_headers)

    def is_plain(self, data: bytes) -> bool:
        """Whether these bytes are one request to this route, and nothing else."""
        head, _, body = data.partition(_HEAD_END)
        if len(body) > self._most_body_bytes or not self._first_line.match(head):
            return False
        lines = head.lower() + b"\r"
        lengths = _LENGTH_LINE.findall(lines)
        return (
            lines.count(b"content-length") == 1
            and lengths == [b"%d" % len(body)]
            and not _UNUSUAL_LINE.search(lines)
        )

    def compose_refusal(
        self, request: FastRequest, refusal: Unavailable, server_headers: Sequence[Header]
    ) -> bytes:
        """The whole response to a request for which there was no room when its head arrived."""
        seconds = time.perf_counter() - request.began
        return self._compose_refusal(refusal, request.request_id, seconds, server_headers)

    def _compose_refusal(
        self,
        refusal: Unavailable,
        request_id: str,
        seconds: float,
        server_headers: Sequence[Header],
    ) -> bytes:
        self._tell(503, request_id, seconds, None)
        text = self._refusals.get(str(refusal))
        if text is None:
            problem = to_problem(refusal).model_copy(update={"request_id": _ID.decode()})
            response = FastResponse(
                503, render_problem(problem), build_error_headers(refusal), MEDIA_TYPE
            )
            text = self._refusals[str(refusal)] = self._render(response, _ID.decode())
        rest = text.replace(_ID, request_id.encode())
        return STATUS_LINE[503] + _render_headers(server_headers) + rest

    def _tell(self, status: int, request_id: str, seconds: float, caller: str | None) -> None:
        tell_request(
            self._logs,
            self._metrics,
            method="POST",
            route=self._route,
            status=status,
            seconds=seconds,
            request_id=request_id,
            caller=caller,
        )

    def _render(self, response: FastResponse, request_id: str) -> bytes:
        """A response behind its first line and the server's own headers."""
        own = {
            "content-type": response.media_type,
            "content-length": str(len(response.body)),
            **response.headers,
            "x-request-id": request_id,
        }
        lines = "".join([f"{name.lower()}: {value}\r\n" for name, value in own.items()])
        return b"".join((lines.encode("latin-1"), self._usual, b"\r\n", response.body))


def _render_headers(headers: Sequence[Header]) -> bytes:
    return b"".join([b"%b: %b\r\n" % each for each in headers])


def _respond_with_problem(
    request: FastRequest, problem: Problem, headers: Mapping[str, str]
) -> FastResponse:
    complete = problem.model_copy(
        update={"instance": request.path, "request_id": request.request_id}
    )
    return FastResponse(problem.status, render_problem(complete), headers, MEDIA_TYPE)
