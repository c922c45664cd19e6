"""Uvicorn's HTTP protocol with deadlines, which uvicorn lacks.

Without them a few hundred clients that send a byte now and then hold every connection there is.

- A request's head must be complete within ten seconds of the connection or of its first byte, and
  have at most 64 KiB: 408 or 431. A connection that never said anything is closed without a word,
  since browsers open some in advance and would show what they are sent.
- A body must be complete a minute after its head. (The intake cuts it much earlier; this is for
  calls that take none.) After an early answer, such as 413, the rest of the body is thrown away for
  two seconds, so that the client can read the answer before the connection is closed.
- A client that does not read its answer for thirty seconds is cut off.
- Sixteen requests may be sent ahead of the answer to one. Whoever sends more gets the answers to
  these, and then the connection is closed: what came after them was not looked at.
- Where there are more connections than half of the files that the process may open, each new one
  ends the one that has waited longest for its client. A client that means well is served within
  milliseconds, so that it is never that one.
"""

from __future__ import annotations

import asyncio
import resource
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from grader.errors import MalformedRequest
from grader.web.errors.problems import render_error, to_problem
from grader.web.http.body import WHOLE_BODY
from grader.web.http.fast_path import FAST_ROUTES, Exchange, FastRequest, FastRoute
from grader.web.http.turnstile import TURNSTILE, Turnstile


def _default_connection_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 10_000 if soft == resource.RLIM_INFINITY else min(10_000, soft // 2)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long a client may take for each part of a request, and the maximum number of clients."""

    head_seconds: float = 10.0
    most_head_bytes: int = 64 * 1024
    body_seconds: float = 60.0
    linger_seconds: float = 2.0
    write_seconds: float = 30.0
    most_pipelined: int = 16
    most_connections: int = field(default_factory=_default_connection_limit)


#: The parser takes a piece of data whole, which can hold thousands of requests.
_PARSED_BYTES = 16 * 1024
#: Whoever watches over the service must not take a queue for a failure.
_PROBES = (b"GET /healthz ", b"GET /readyz ")


class DeadlineProtocol(HttpToolsProtocol):
    """To be used as ``uvicorn.Config(http=DeadlineProtocol, ws="none")``."""

    deadlines = Deadlines()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._head_bytes = 0
        self._body_bytes = 0
        self._wire_bytes = 0
        self._awaits_head = True
        self._is_in_head = False
        self._awaits_body = False
        # Set once nothing more is answered on this connection; what still comes is thrown away.
        self._is_over = False
        # Set once too many requests were sent ahead; those before are still answered.
        self._is_cut = False
        # Whether a request that starts now has gone past the turnstile, where the app must wait.
        self._must_wait = False
        # The request that is being answered; uvicorn's own cycle is the one that came last.
        self._current: RequestResponseCycle | None = None
        # A request that may be answered without the app, until its body has come.
        self._fast_call: _FastCall | None = None
        self._waits_since = 0.0
        self._turnstile: Turnstile = self.app_state.get(TURNSTILE) or Turnstile()
        # What has arrived and waits at the turnstile.
        self._held = b""

    # The connection

    # uvicorn narrows the type of the transport as well.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first head."""
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        if len(self.connections) > self.deadlines.most_connections:
            self._make_room()
        self._start("head", self.deadlines.head_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all deadlines."""
        for name in tuple(self._timers):
            self._stop(name)
        # Nobody is there to get the answers to what was sent ahead.
        self.pipeline.clear()
        self._held = b""
        if self._current is not None and not self._current.response_complete:
            self._current.disconnected = True
            self._current.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Accept data, as soon as there is room for it in a turn of the event loop."""
        if self._ignores_data() or self._refuse_whole(data):
            return
        if self._held:
            self._held += data
        elif self._turnstile.may_enter() or data.startswith(_PROBES):
            self._take(data)
        elif self._is_plain(data):
            # It takes next to no time, unless it turns out to be one for the app.
            self._must_wait = True
            self._take(data)
            self._must_wait = False
        else:
            self._held = data
            self.transport.pause_reading()
            self._unset_keepalive_if_required()
            self._turnstile.wait(self._take_held)

    def _is_plain(self, data: bytes) -> bool:
        """Whether a plain request to a busy route has come in one piece."""
        return self._is_between_requests() and any(
            route.is_plain(data) for route in self.app_state.get(FAST_ROUTES, ())
        )

    def _take_held(self) -> None:
        data, self._held = self._held, b""
        if not data or self.transport.is_closing():
            return
        if not self.flow.read_paused:
            self.transport.resume_reading()
        if not self._ignores_data():
            self._take(data)

    def _take(self, data: bytes) -> None:
        if len(data) <= _PARSED_BYTES:
            self._parse(data)
            return
        for start in range(0, len(data), _PARSED_BYTES):
            self._parse(data[start : start + _PARSED_BYTES])
            if self._ignores_data():
                return

    def shutdown(self) -> None:
        """End the connection, once what has arrived is answered."""
        if not self._is_answering():
            self._take_held()
        super().shutdown()

    def _ignores_data(self) -> bool:
        return self._is_over or self._is_cut

    def _parse(self, data: bytes) -> None:
        if self._awaits_head:
            self._head_bytes += len(data)
            self._is_in_head = True
        else:
            self._wire_bytes += len(data)
        super().data_received(data)
        if self._is_cut:
            return
        if self._awaits_head and self._head_bytes > self.deadlines.most_head_bytes:
            self._refuse_large_head()
        elif self._awaits_body and self._is_mostly_wrapping():
            self.close()
        elif not self._is_over:
            self._start_waiting()

    # The parser

    def on_message_begin(self) -> None:
        """Start a request."""
        if self._is_cut:
            return
        super().on_message_begin()
        self._awaits_head = self._is_in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Accept a header; headers after a chunked body are ignored."""
        if self._awaits_head and not self._is_cut:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Let the app answer."""
        if self._ignores_data():
            return
        if len(self.pipeline) >= self.deadlines.most_pipelined:
            self._cut_pipeline()
            return
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.deadlines.most_head_bytes:
            self._refuse_large_head()
            return
        self._stop("head")
        self._stop("body")
        self._head_bytes = self._body_bytes = self._wire_bytes = 0
        self._awaits_head = self._is_in_head = False
        self._awaits_body = True
        self._fast_call = self._match_fast_route()
        if self._fast_call is None:
            self._start_app()

    def _start_app(self) -> None:
        super().on_headers_complete()
        if self.cycle is not None:
            # It has what uvicorn's cycle uses of a transport, and no more.
            is_head = self.cycle.scope["method"] == "HEAD"
            self.cycle.transport = _ResponseTransport(self, is_head)  # type: ignore[assignment]

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._current = cycle
        if self._must_wait:
            self._turnstile.wait(partial(super()._start_asgi_task, cycle, app))
        else:
            super()._start_asgi_task(cycle, app)

    def _cut_pipeline(self) -> None:
        """Answer what was sent ahead until now, and nothing more."""
        self._is_cut = True
        self._stop("head")
        self._stop("body")
        # The last of those that wait; its answer says that the connection ends.
        self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of the body."""
        self._body_bytes += len(body)
        if self._ignores_data():
            return
        if self._fast_call is None:
            super().on_body(body)
        elif self._fast_call.request.refusal is None:
            self._fast_call.request.body += body

    def on_message_complete(self) -> None:
        """The request is complete; the next bytes start another one."""
        if self._ignores_data():
            return
        self._stop("body")
        self._awaits_head = True
        self._awaits_body = False
        call, self._fast_call = self._fast_call, None
        if call is not None:
            if self._answer_fast(call):
                return
            self._start_app()
            super().on_body(bytes(call.request.body))
        self.scope["extensions"] = {WHOLE_BODY: {}}
        super().on_message_complete()

    # Requests that are answered without the app

    def _refuse_whole(self, data: bytes) -> bool:
        """Refuse a request that arrives in one piece and for which there is no room."""
        if not self._is_between_requests() or self.flow.write_paused:
            return False
        for route in self.app_state.get(FAST_ROUTES, ()):
            response = route.refuse(data, self.server_state.default_headers)
            if response is not None:
                self._stop("head")
                self._unset_keepalive_if_required()
                self._write_response(response)
                return True
        return False

    def _is_between_requests(self) -> bool:
        return self._awaits_head and not self._is_in_head and not self._is_answering()

    def _match_fast_route(self) -> _FastCall | None:
        if self._is_answering() or self.flow.write_paused or not self.parser.should_keep_alive():
            return None
        for route in self.app_state.get(FAST_ROUTES, ()):
            address = self.client[0] if self.client else "unknown"
            request = route.match(self.parser.get_method(), self.url, self.headers, address)
            if request is not None:
                return _FastCall(route, request)
        return None

    def _answer_fast(self, call: _FastCall) -> bool:
        """Answer a request, or begin to; what is not answered is left to the app."""
        route, request = call
        if request.refusal is not None:
            self._write_response(
                route.compose_refusal(request, request.refusal, self.server_state.default_headers)
            )
            return True
        try:
            exchange = route.begin(request)
        except Exception as error:
            # The parser would take a defect for a malformed request.
            self._write_response(
                route.compose(request, None, error, self.server_state.default_headers)
            )
            return True
        if exchange is None:
            return False
        cycle = _FastCycle()
        # It has what uvicorn uses of a cycle, and no more.
        self.cycle = cycle  # type: ignore[assignment]
        exchange.future.add_done_callback(partial(self._finish_fast, call, exchange, cycle))
        return True

    def _finish_fast(
        self, call: _FastCall, exchange: Exchange, cycle: _FastCycle, future: asyncio.Future[Any]
    ) -> None:
        outcome = future.exception() or future.result()
        delay = call.route.get_delay(outcome)
        if delay:
            self.loop.call_later(delay, self._write_fast, call, exchange, cycle, outcome)
        else:
            self._write_fast(call, exchange, cycle, outcome)

    def _write_fast(
        self, call: _FastCall, exchange: Exchange, cycle: _FastCycle, outcome: object
    ) -> None:
        headers = list(self.server_state.default_headers)
        if not cycle.keep_alive:
            headers.append((b"connection", b"close"))
        response = call.route.compose(call.request, exchange, outcome, headers)
        cycle.response_complete = True
        if self.transport.is_closing():
            return
        self._write_response(response)
        if not cycle.keep_alive:
            self.close()

    def _write_response(self, response: bytes) -> None:
        self.transport.write(response)
        self.on_response_complete()

    # The response

    def on_response_complete(self) -> None:
        """Make sure that neither the rest of a body nor an unread response holds the connection."""
        self._waits_since = self.loop.time()
        if self._is_over:
            self.pipeline.clear()
        # Or else each answer would start what was sent ahead of it, past everybody who waits.
        self._must_wait = True
        super().on_response_complete()
        self._must_wait = False
        if self.pipeline:
            # What was sent ahead comes first; uvicorn would read ever more of it.
            self.flow.pause_reading()
        if self.transport.is_closing():
            self._start("write", self.deadlines.write_seconds, self.transport.abort)
        elif self._awaits_body and not self._is_answering():
            self._start("body", self.deadlines.linger_seconds, self.close)

    def pause_writing(self) -> None:
        """The client does not read; start its deadline."""
        super().pause_writing()
        self._start("write", self.deadlines.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop("write")

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was idle too long between two requests."""
        self.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the same form as every other error."""
        fault = MalformedRequest("This cannot be read as an HTTP request.", code="http.invalid")
        self._refuse(fault)

    def close(self) -> None:
        """Close the connection after everything is sent, or after a deadline."""
        self._is_over = True
        if not self.transport.is_closing():
            self.transport.close()
            self._start("write", self.deadlines.write_seconds, self.transport.abort)

    def close_lingering(self) -> None:
        """Close the connection, but let a client that still sends read the answer first."""
        if not (self._awaits_body or self._is_cut):
            self.close()
            return
        self._is_over = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._start("body", self.deadlines.linger_seconds, self.close)

    # What happens at a deadline

    def _make_room(self) -> None:
        others = (each for each in self.connections if isinstance(each, DeadlineProtocol))
        waiting = [each for each in others if each is not self and each._is_waiting()]
        if waiting:
            min(waiting, key=lambda each: each._waits_since).transport.abort()

    def _is_waiting(self) -> bool:
        """Whether it is the client's turn: a request that is whole is always answered."""
        is_open = not self.transport.is_closing()
        return is_open and self._is_heard() and (self._awaits_body or not self._is_answering())

    def _is_heard(self) -> bool:
        """Whether everything that the client has sent was looked at."""
        return not (self._held or self.flow.read_paused)

    def _start_waiting(self) -> None:
        """Start the deadline of what is still to come; most requests come whole and need none."""
        if self._awaits_body:
            if "body" not in self._timers:
                self._start("body", self.deadlines.body_seconds, self._body_is_late)
        elif self._is_in_head and "head" not in self._timers:
            self._start("head", self.deadlines.head_seconds, self._head_is_late)

    def _is_mostly_wrapping(self) -> bool:
        # Even a body in chunks of one byte has no more; what has more is padding, or endless
        # trailers, which the parser would keep in memory.
        return self._wire_bytes > 16 * self._body_bytes + self.deadlines.most_head_bytes

    def _head_is_late(self) -> None:
        if not self._is_heard():
            # It is not the client who is slow: we have not read what it sent.
            self._start("head", self.deadlines.head_seconds, self._head_is_late)
            return
        if not self._head_bytes or self._is_answering():
            self.close()
            return
        seconds = f"{self.deadlines.head_seconds:g} seconds"
        said = f"The head of the request was not complete after {seconds}."
        self._refuse(MalformedRequest(said, code="headers.slow"))

    def _body_is_late(self) -> None:
        if not self._is_heard():
            # The same.
            self._start("body", self.deadlines.body_seconds, self._body_is_late)
            return
        self.close()

    def _refuse_large_head(self) -> None:
        most = self.deadlines.most_head_bytes
        said = f"The head of a request may have at most {most} bytes."
        self._refuse(MalformedRequest(said, code="headers.too_large"))

    def _refuse(self, fault: MalformedRequest) -> None:
        if self._is_over or self._is_answering():
            # Another answer is on its way; this one must not get into it.
            self.close()
            return
        problem = to_problem(fault)
        # There is no address where not even the first line could be read.
        path = getattr(self, "url", b"").partition(b"?")[0].decode("latin-1")
        body, media_type = render_error(problem, path)
        head = (
            f"content-type: {media_type}\r\ncontent-length: {len(body)}\r\n"
            "cache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[problem.status] + head.encode("ascii") + body)
        self._awaits_body = True
        self.close_lingering()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _start(self, name: str, seconds: float, late: Any) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, late)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


class _FastCall(NamedTuple):
    """A request that may be answered without the app, and by which route."""

    route: FastRoute
    request: FastRequest


@dataclass(slots=True)
class _FastCycle:
    """Stands in for uvicorn's cycle of a request that is answered without the app.

    Because of it, later requests on the same connection wait, and so does a server that stops.
    """

    keep_alive: bool = True
    disconnected: bool = False
    response_complete: bool = False
    message_event: asyncio.Event = field(default_factory=asyncio.Event)


_CONTINUE = STATUS_LINE[100]


class _ResponseTransport:
    """What a response is written to: the connection, except that it is closed with care.

    The head goes with the first piece of the body: each write is a call of the system, which takes
    longer than to put the two together.
    """

    def __init__(self, protocol: DeadlineProtocol, is_head: bool) -> None:
        # It does not know uvicorn's cycle, which knows it: two that know each other stay in memory,
        # with the body of the request, until the garbage collector looks for them.
        self._protocol = protocol
        # The head of a response to HEAD waits for nothing.
        self._has_begun = is_head
        self._head = b""

    def write(self, data: bytes) -> None:
        # Before the response there may be a 100 Continue, for which the client waits.
        if not (self._has_begun or data.startswith(_CONTINUE)):
            self._has_begun = True
            self._head = data
            return
        head, self._head = self._head, b""
        if self._protocol.transport.is_closing():
            # The client was cut off while its answer was being made.
            return
        self._protocol.transport.write(head + data if head else data)

    def is_closing(self) -> bool:
        return self._protocol.transport.is_closing()

    def close(self) -> None:
        if self._head:
            self.write(b"")
        self._protocol.close_lingering()
