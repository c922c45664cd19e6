"""Refusing what the writer has no room for, before anything is made of the request.

With twice the requests that the service can carry, every second one is refused, and each refusal
takes time from those that are accepted. So the server itself sends it, as a text made in advance.
Requests that are unusual in any way are left to the app, which refuses them as well.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from grader.errors import Unavailable
from grader.web.errors.model import MEDIA_TYPE, render_problem
from grader.web.errors.problems import build_error_headers, to_problem
from grader.web.http.middleware import Header, complete_headers
from grader.web.ops.logs import Logger
from grader.web.ops.metrics import Metrics, count_request

#: Where the server finds it, in the state that the app's lifespan leaves to all requests.
EARLY_REFUSAL = "keyset.early_refusal"

# The body is read to its end and thrown away.
_MOST_BODY_BYTES = 64 * 1024
_ID = "0" * 24


class EarlyRefusal:
    """Refuses POSTs to one route while there is no room for them.

    Parameters
    ----------
    route
        The template of the route's path.
    find_refusal
        Why there is no room just now; None where there is.
    """

    def __init__(
        self,
        route: str,
        find_refusal: Callable[[], Unavailable | None],
        *,
        is_https: bool,
        logs: Logger,
        metrics: Metrics,
    ) -> None:
        self._route = route
        self._pattern = re.compile(re.sub(r"\{\w+\}", "[^/?#]+", route).encode())
        self._find_refusal = find_refusal
        self._is_https = is_https
        self._logs = logs
        self._metrics = metrics
        self._texts: dict[str, bytes] = {}

    def find(self, method: bytes, url: bytes, headers: Sequence[Header]) -> Unavailable | None:
        """Why a request is refused at once; None leaves it to the app."""
        refusal = self._find_refusal()
        if refusal is None or method != b"POST" or not self._pattern.fullmatch(url):
            return None
        sent = dict(headers)
        length = sent.get(b"content-length", b"")
        is_short = length.isdigit() and len(length) < 8 and int(length) <= _MOST_BODY_BYTES
        is_plain = is_short and b"x-request-id" not in sent and b"expect" not in sent
        return refusal if is_plain else None

    def compose(self, refusal: Unavailable) -> bytes:
        """The whole response, which is counted and logged like any other."""
        request_id = f"{random.getrandbits(96):024x}"
        count_request(self._metrics, route=self._route, method="POST", status=503, seconds=0.0)
        self._logs.info(
            "request",
            method="POST",
            route=self._route,
            status=503,
            milliseconds=0.0,
            request_id=request_id,
        )
        text = self._texts.get(str(refusal))
        if text is None:
            text = self._texts[str(refusal)] = self._render(refusal)
        return text.replace(_ID.encode(), request_id.encode())

    def _render(self, refusal: Unavailable) -> bytes:
        problem = to_problem(refusal).model_copy(update={"request_id": _ID})
        body = render_problem(problem)
        own = {"content-type": MEDIA_TYPE, "content-length": str(len(body))}
        own |= build_error_headers(refusal)
        headers = complete_headers(
            [(name.lower().encode(), value.encode()) for name, value in own.items()],
            request_id=_ID,
            is_https=self._is_https,
        )
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        return STATUS_LINE[problem.status] + lines + b"\r\n" + body
