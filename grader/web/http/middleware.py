"""Middleware: request id, timing, security headers, access log, request count."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.errors import KeysetError, MalformedRequest
from grader.web.errors.model import Problem
from grader.web.errors.problems import (
    build_error_headers,
    build_problem_response,
    make_defect_problem,
    to_problem,
)
from grader.web.http.hosts import KnownHosts
from grader.web.http.throttle import Throttle
from grader.web.ops.logs import Logger
from grader.web.ops.metrics import Metrics, count_request

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "img-src 'self' data:",
    )
)

Header = tuple[bytes, bytes]

#: Set unless the route has set them itself: a launch inside an LMS, say, has its own ancestors.
_DEFAULT_HEADERS: Sequence[Header] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # Nearly everything is about one person, so that what may be kept must say so.
    (b"cache-control", b"no-store"),
)
_HTTPS_HEADERS: Sequence[Header] = (
    *_DEFAULT_HEADERS,
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains"),
)


def complete_headers(sent: Iterable[Header], *, request_id: str, is_https: bool) -> list[Header]:
    """The headers of a response, with those that it lacks."""
    headers = [each for each in sent if each[0] != b"x-request-id"]
    names = {name for name, _ in headers}
    headers += [each for each in list_usual_headers(is_https=is_https) if each[0] not in names]
    headers.append((b"x-request-id", request_id.encode()))
    return headers


def list_usual_headers(*, is_https: bool) -> Sequence[Header]:
    """The headers of every response that does not set them itself."""
    return _HTTPS_HEADERS if is_https else _DEFAULT_HEADERS


MOST_HEADERS = 100
MOST_HEADER_BYTES = 32 * 1024

Clock = Callable[[], datetime]

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# What proxies write for a caller who left before the answer.
_CLIENT_CLOSED_REQUEST = 499


def install_middleware(
    app: FastAPI,
    *,
    clock: Clock,
    logs: Logger,
    metrics: Metrics,
    throttle: Throttle,
    hosts: KnownHosts | None = None,
) -> None:
    """Add the middleware to an app; call it last, so that it is outermost."""
    app.add_middleware(
        RequestMiddleware,
        clock=clock,
        logs=logs,
        metrics=metrics,
        throttle=throttle,
        hosts=hosts,
    )


class RequestMiddleware:
    """The outermost part of the app, as plain ASGI.

    It leaves ``received_at`` and ``request_id`` in the request's state before anything else runs,
    and tells ``caller`` from there, an opaque id, if somebody has set it. At the end of the request
    it closes ``at_end``, if somebody has set that.
    """

    def __init__(
        self,
        app: ASGIApp,
        clock: Clock,
        logs: Logger,
        metrics: Metrics,
        throttle: Throttle,
        hosts: KnownHosts | None,
    ) -> None:
        self._app = app
        self._throttle = throttle
        self._hosts = hosts
        self._clock = clock
        self._logs = logs
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["received_at"] = self._clock()
        state["request_id"] = _request_id(scope)
        began = time.perf_counter()
        reply = _ResponseSender(scope, send, self._throttle)
        # The app gets a scope of its own, because a HEAD is answered as a GET whose body the server
        # leaves out.
        inner = dict(scope, method="GET") if scope["method"] == "HEAD" else dict(scope)
        try:
            await self._run(inner, receive, reply)
        finally:
            if "at_end" in state:
                state["at_end"].close()
            self._tell(inner, reply, scope["method"], time.perf_counter() - began)

    async def _run(self, scope: Scope, receive: Receive, reply: _ResponseSender) -> None:
        try:
            _refuse_malformed(scope, self._hosts)
            await self._throttle.admit(scope)
        except KeysetError as fault:
            headers = build_error_headers(fault)
            await _send_problem(to_problem(fault), scope, receive, reply, headers)
            return
        try:
            await self._app(scope, receive, reply)
        except ClientDisconnect:
            reply.status = reply.status or _CLIENT_CLOSED_REQUEST
        except Exception as error:
            self._logs.error("defect", request_id=scope["state"]["request_id"], error=error)
            if reply.status:
                # The response has begun; the server must cut it, so that nobody takes it for whole.
                raise
            await _send_problem(make_defect_problem(), scope, receive, reply)

    def _tell(self, scope: Scope, reply: _ResponseSender, method: str, seconds: float) -> None:
        route = _get_route_template(scope)
        known = method if method in _METHODS else "other"
        # A request that was cut off before its response began has no status but this one.
        status = reply.status or _CLIENT_CLOSED_REQUEST
        state = scope["state"]
        tell_request(
            self._logs,
            self._metrics,
            method=known,
            route=route,
            status=status,
            seconds=seconds,
            request_id=state["request_id"],
            caller=state.get("caller"),
        )


def tell_request(
    logs: Logger,
    metrics: Metrics,
    *,
    method: str,
    route: str,
    status: int,
    seconds: float,
    request_id: str,
    caller: object,
) -> None:
    """Log and count a request that was answered."""
    count_request(metrics, route=route, method=method, status=status, seconds=seconds)
    logs.info(
        "request",
        method=method,
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        request_id=request_id,
        **({"caller": str(caller)} if caller else {}),
    )


class _ResponseSender:
    """Sends a response with the common headers, and remembers its status."""

    def __init__(self, scope: Scope, send: Send, throttle: Throttle) -> None:
        self._send = send
        self._scope = scope
        self._throttle = throttle
        self._request_id: str = scope["state"]["request_id"]
        self._is_https = scope.get("scheme") == "https"
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            sent = list(message.get("headers", ()))
            await self._throttle.hold_back(self._scope, message["status"], sent)
            self.status = message["status"]
            headers = complete_headers(sent, request_id=self._request_id, is_https=self._is_https)
            message = {**message, "headers": headers}
        await self._send(message)


def _get_route_template(scope: Scope) -> str:
    """The template of the matched route, without any value of the URL."""
    # A route of an included router knows its own part of the path only; FastAPI keeps the whole.
    context = scope.get("fastapi", {}).get("effective_route_context")
    route = context if context is not None else scope.get("route")
    path: Any = getattr(route, "path_format", None) or getattr(route, "path", None)
    if isinstance(path, str):
        return path
    # Of a mounted app, such as the static files, only the place where it is mounted is known.
    mounted = scope.get("root_path", "") if "endpoint" in scope else ""
    return f"{mounted}/…" if mounted else "(none)"


def _request_id(scope: Scope) -> str:
    sent = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(sent) == 1 and _REQUEST_ID.fullmatch(sent[0]):
        return str(sent[0], "ascii")
    return make_request_id()


def make_request_id() -> str:
    """A new id of a request."""
    # It is no secret, and the operating system's random numbers cost a system call.
    return f"{random.getrandbits(96):024x}"


def _refuse_malformed(scope: Scope, hosts: KnownHosts | None) -> None:
    headers = scope["headers"]
    size = sum(len(name) + len(value) + 4 for name, value in headers)
    if len(headers) > MOST_HEADERS or size > MOST_HEADER_BYTES:
        raise MalformedRequest(
            f"A request may have {MOST_HEADERS} headers of {MOST_HEADER_BYTES} bytes together.",
            code="headers.too_large",
        )
    if hosts is not None and not hosts.may_answer(scope):
        raise MalformedRequest("The service has another address.", code="host.unknown")
    # No name and no text here holds this character, and PostgreSQL cannot even compare with it.
    if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
        raise MalformedRequest("The address holds the character U+0000.", code="http.invalid")


async def _send_problem(
    problem: Problem,
    scope: Scope,
    receive: Receive,
    send: Send,
    headers: Mapping[str, str] | None = None,
) -> None:
    response = build_problem_response(problem, Request(scope), headers)
    await response(scope, receive, send)
