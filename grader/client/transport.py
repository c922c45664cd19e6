"""HTTP requests, with retries where they are safe and may help."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx2

from grader import __version__
from grader.client.errors import (
    ClientError,
    make_problem_error,
    make_unreadable_error,
    set_outcome_unknown,
)

#: The service, or a proxy before it, is busy.
_RETRY_STATUSES = {429, 502, 503, 504}
#: The service certainly did not process the request.
_NOT_PROCESSED_STATUSES = {401, 403, 429}
#: Errors before anything was sent.
_NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
#: Errors that a retry would not help with.
_PERMANENT_ERRORS = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL)


@dataclass(frozen=True, slots=True)
class Patience:
    """When to retry and when to give up; tests replace clock, sleep and chance.

    The wait doubles from try to try, with jitter, so that a class whose requests failed together
    does not retry together. A longer `Retry-After` of the service is respected.
    """

    tries: int = 6
    first_wait_seconds: float = 0.5
    most_wait_seconds: float = 15.0
    give_up_seconds: float = 90.0
    """No wait begins that would end later than this after the first try."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError("tries must be at least 1.")

    def wait_seconds(self, tried: int, retry_after: float | None) -> float:
        """How long to wait after `tried` tries."""
        grown = min(self.first_wait_seconds * 2.0 ** (tried - 1), self.most_wait_seconds)
        varied = grown * (0.5 + 0.5 * self.chance())
        return max(varied, retry_after or 0.0)


def read_retry_after(header: str | None, *, date: str | None = None) -> float | None:
    """The seconds that a `Retry-After` header asks for; None if it cannot be parsed.

    A time is compared with the `Date` of the same response, since the local clock may be wrong.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        # More digits would make a number too large to sleep for.
        return float(text[:9])
    try:
        waits = parsedate_to_datetime(text) - parsedate_to_datetime(date or "")
    except (ValueError, TypeError):
        return None
    return max(0.0, waits.total_seconds())


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request; all of its tries are the same, byte for byte."""

    method: str
    path: str
    body: bytes | None = None
    key: str | None = None
    """The Idempotency-Key of an attempt; a request without one changes nothing."""

    def headers(self) -> dict[str, str]:
        """The headers that not every request has."""
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return headers


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A successful response."""

    status: int
    content: bytes

    def json(self) -> Any:
        """The body as data."""
        try:
            return json.loads(self.content)
        except ValueError:
            raise make_unreadable_error(self.status) from None


@dataclass(slots=True)
class _Tries:
    """The tries of a request so far."""

    started_at: float
    count: int = 0
    may_have_arrived: bool = False


class Transport:
    """A connection to the service; only its headers hold the token, and they hide it."""

    def __init__(
        self, address: str, *, token: str, timeout_seconds: float, patience: Patience
    ) -> None:
        self.address = _check_address(address)
        self._patience = patience
        self._http = httpx2.Client(
            headers={
                "Authorization": f"Bearer {_check_token(token)}",
                "User-Agent": f"keyset/{__version__}",
                "Accept": "application/json",
            },
            timeout=timeout_seconds,
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def send(
        self, request: ApiRequest, *, notify: Callable[[str], None] | None = None
    ) -> ApiResponse:
        """Send a request, and retry if necessary; `notify` is called before every wait.

        Raises
        ------
        ClientError
            If the service refuses or does not answer.
        """
        tries = _Tries(self._patience.monotonic())
        while True:
            tries.count += 1
            response, reason = self._try(request, tries)
            if response is not None and response.status_code not in _RETRY_STATUSES:
                return _read_response(response, request, tries)
            self._wait(request, tries, response, reason, notify)

    def _try(self, request: ApiRequest, tries: _Tries) -> tuple[httpx2.Response | None, str]:
        try:
            response = self._http.request(
                request.method,
                f"{self.address}/api/v1{request.path}",
                content=request.body,
                headers=request.headers(),
            )
        except _PERMANENT_ERRORS as error:
            raise ClientError(f"{self.address}: {error}.", code="address.invalid") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            if not isinstance(error, _NOT_SENT_ERRORS):
                tries.may_have_arrived = True
            return None, self._explain(error)
        if response.status_code in _RETRY_STATUSES - _NOT_PROCESSED_STATUSES:
            tries.may_have_arrived = True
        return response, f"{self.address} is busy or unavailable ({response.status_code})."

    def _wait(
        self,
        request: ApiRequest,
        tries: _Tries,
        response: httpx2.Response | None,
        reason: str,
        notify: Callable[[str], None] | None,
    ) -> None:
        """Wait before the next try, or give up."""
        patience = self._patience
        retry_after = None
        if response is not None:
            headers = response.headers
            retry_after = read_retry_after(headers.get("Retry-After"), date=headers.get("Date"))
        seconds = patience.wait_seconds(tries.count, retry_after)
        waited = patience.monotonic() - tries.started_at
        if tries.count >= patience.tries or waited + seconds > patience.give_up_seconds:
            _give_up(request, tries, response, reason, retry_after)
        if notify is not None:
            notify(f"{reason} Trying again in {seconds:.1f} seconds.")
        patience.sleep(seconds)

    def _explain(self, error: Exception) -> str:
        match error:
            case httpx2.ConnectError() | httpx2.ConnectTimeout():
                return f"{self.address} cannot be reached."
            case httpx2.TimeoutException():
                return f"{self.address} did not answer in time."
            case _:
                return f"The connection to {self.address} was lost."


def _check_address(address: str) -> str:
    """An address without a trailing slash; refused if it is invalid or holds a password."""
    text = address.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        has_secret = parts.username is not None or bool(parts.query or parts.fragment)
    except ValueError:
        is_valid = has_secret = False
    if not is_valid or has_secret:
        # The message does not repeat the address, which may hold a token or a password.
        raise ClientError(
            "The address of the service must look like http://localhost:8000, without a path, a "
            "query or a password.",
            code="address.invalid",
        )
    return text


def _check_token(token: str) -> str:
    text = token.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ClientError(
            "This is not a token: it is empty, or has a space or another character that no token "
            "has.",
            code="token.invalid",
            hint="Copy the whole token; it begins with keyset_.",
        )
    return text


def _read_response(response: httpx2.Response, request: ApiRequest, tries: _Tries) -> ApiResponse:
    status = response.status_code
    if 200 <= status < 300:
        return ApiResponse(status, response.content)
    if response.is_redirect:
        target = response.headers.get("Location", "")
        raise ClientError(
            f"The service has moved; create the client with its new address: {target[:200]}",
            code="address.moved",
            status=status,
        )
    problem = _find_problem(response)
    if problem is None:
        raise make_unreadable_error(status)
    # An internal error may occur after the attempt was stored.
    is_open = status >= 500 or (tries.may_have_arrived and status in _NOT_PROCESSED_STATUSES)
    is_unknown = request.key is not None and is_open
    # Only answers have a body. For an answer at the wrong time (409) the reason says enough.
    is_free = request.body is not None and not is_unknown and status != 409
    error = make_problem_error(problem, status=status, is_free=is_free)
    raise set_outcome_unknown(error) if is_unknown else error


def _find_problem(response: httpx2.Response) -> Mapping[str, Any] | None:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return None
    return problem if isinstance(problem, Mapping) and "code" in problem else None


def _give_up(
    request: ApiRequest,
    tries: _Tries,
    response: httpx2.Response | None,
    reason: str,
    retry_after: float | None,
) -> NoReturn:
    problem = _find_problem(response) if response is not None else None
    count = "once" if tries.count == 1 else f"{tries.count} times"
    detail = str(problem["detail"]) if problem and "detail" in problem else reason
    later = f" The service asks to wait {retry_after:.0f} seconds." if retry_after else ""
    is_unknown = request.key is not None and tries.may_have_arrived
    free = " No attempt was used." if request.key is not None and not is_unknown else ""
    error = ClientError(
        f"{detail} Tried {count}.{later}{free}",
        code=str(problem["code"]) if problem else "service.unreachable",
        status=response.status_code if response is not None else None,
    )
    raise set_outcome_unknown(error) if is_unknown else error
