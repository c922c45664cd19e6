"""Calls over HTTP: tried again where that is safe and may help, and told in plain words if not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from grader.client.retries import Patience, read_retry_after

#: The service is busy, or something before it has lost it for a while.
_RETRY_STATUSES = {429, 502, 503, 504}
#: With these it was certainly not looked at what was sent.
_NOT_PROCESSED_STATUSES = {401, 403, 429}
#: Nothing was sent before one of these.
_NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
#: Trying again would not help with these.
_PERMANENT_ERRORS = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What is asked of the service; all of its tries are the same, byte for byte."""

    method: str
    path: str
    body: bytes | None = None
    key: str | None = None
    """The Idempotency-Key of an attempt; a call without one changes nothing."""

    def headers(self) -> dict[str, str]:
        """The headers besides those of every call."""
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return headers


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """What the service answered."""

    status: int
    content: bytes

    def json(self) -> Any:
        """The answer as data."""
        try:
            return json.loads(self.content)
        except ValueError:
            raise make_unreadable_error(self.status) from None


@dataclass(slots=True)
class _Tries:
    """How a call went so far."""

    started_at: float
    count: int = 0
    may_have_arrived: bool = False


class Transport:
    """A connection to a service; the token is known to its headers alone, which hide it."""

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

    def call(self, call: ApiRequest, *, say: Callable[[str], None] | None = None) -> ApiResponse:
        """Ask the service, again where need be; `say` is told why it takes longer.

        Raises
        ------
        ClientError
            Where it refuses, or does not answer.
        """
        tries = _Tries(self._patience.monotonic())
        while True:
            tries.count += 1
            response, reason = self._try(call, tries)
            if response is not None and response.status_code not in _RETRY_STATUSES:
                return _read_reply(response, call, tries)
            self._wait(call, tries, response, reason, say)

    def _try(self, call: ApiRequest, tries: _Tries) -> tuple[httpx2.Response | None, str]:
        try:
            response = self._http.request(
                call.method,
                f"{self.address}/api/v1{call.path}",
                content=call.body,
                headers=call.headers(),
            )
        except _PERMANENT_ERRORS as error:
            raise ClientError(f"{self.address}: {error}.", code="address.invalid") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            if not isinstance(error, _NOT_SENT_ERRORS):
                tries.may_have_arrived = True
            return None, self._explain(error)
        if response.status_code in _RETRY_STATUSES - _NOT_PROCESSED_STATUSES:
            tries.may_have_arrived = True
        return response, f"{self.address} is busy or away just now ({response.status_code})."

    def _wait(
        self,
        call: ApiRequest,
        tries: _Tries,
        response: httpx2.Response | None,
        reason: str,
        say: Callable[[str], None] | None,
    ) -> None:
        """Wait before the next try, or give up."""
        patience = self._patience
        asked = None
        if response is not None:
            headers = response.headers
            asked = read_retry_after(headers.get("Retry-After"), date=headers.get("Date"))
        seconds = patience.wait_seconds(tries.count, asked)
        waited = patience.monotonic() - tries.started_at
        if tries.count >= patience.tries or waited + seconds > patience.give_up_seconds:
            _give_up(call, tries, response, reason, asked)
        if say is not None:
            say(f"{reason} Trying again in {seconds:.1f} seconds.")
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
    """An address without a slash at its end; refused where it is none, or holds a password."""
    text = address.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        has_secret = parts.username is not None or bool(parts.query or parts.fragment)
    except ValueError:
        is_fine = has_secret = False
    if not is_fine or has_secret:
        # The address is not repeated, because a token or a password may be in it.
        raise ClientError(
            "The address of the service must be like http://localhost:8000, and nothing more.",
            code="address.invalid",
        )
    return text


def _check_token(token: str) -> str:
    text = token.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ClientError(
            "The token cannot be one: it is empty, or holds a space or another sign that no token "
            "has.",
            code="token.invalid",
            hint="Copy it as it was shown; it begins with keyset_.",
        )
    return text


def _read_reply(response: httpx2.Response, call: ApiRequest, tries: _Tries) -> ApiResponse:
    status = response.status_code
    if 200 <= status < 300:
        return ApiResponse(status, response.content)
    if response.is_redirect:
        target = response.headers.get("Location", "")
        raise ClientError(
            f"The service is at another address; make the client with that one: {target[:200]}",
            code="address.moved",
            status=status,
        )
    problem = _find_problem(response)
    if problem is None:
        raise make_unreadable_error(status)
    # A defect may show after the attempt was stored.
    is_open = status >= 500 or (tries.may_have_arrived and status in _NOT_PROCESSED_STATUSES)
    is_unknown = call.key is not None and is_open
    # Only answers have a body. Where one comes at the wrong time (409), the reason says enough.
    says_free = call.body is not None and not is_unknown and status != 409
    error = make_problem_error(problem, status=status, says_free=says_free)
    raise set_outcome_unknown(error) if is_unknown else error


def _find_problem(response: httpx2.Response) -> Mapping[str, Any] | None:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return None
    return problem if isinstance(problem, Mapping) and "code" in problem else None


def _give_up(
    call: ApiRequest,
    tries: _Tries,
    response: httpx2.Response | None,
    reason: str,
    asked: float | None,
) -> NoReturn:
    problem = _find_problem(response) if response is not None else None
    often = "once" if tries.count == 1 else f"{tries.count} times"
    detail = str(problem["detail"]) if problem and "detail" in problem else reason
    later = f" The service asks to wait {asked:.0f} seconds." if asked else ""
    is_unknown = call.key is not None and tries.may_have_arrived
    free = " No attempt was used." if call.key is not None and not is_unknown else ""
    error = ClientError(
        f"{detail} It was tried {often}.{later}{free}",
        code=str(problem["code"]) if problem else "service.unreachable",
        status=response.status_code if response is not None else None,
    )
    raise set_outcome_unknown(error) if is_unknown else error
