"""What calls that create have in common: the Idempotency-Key, If-Match, and their answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Request, Response

from grader.errors import (
    ErrorDetail,
    MalformedRequest,
    MissingRole,
    MissingScope,
    MissingVersion,
    NotFound,
    NotSignedIn,
    TooManyRequests,
)
from grader.grading.idempotency import IdempotencyKey, IdempotentResponse, run_once
from grader.store.database import Session
from grader.web.errors.openapi import build_error_responses
from grader.web.service import Service
from grader.web.submissions import SentKey, build_replay_headers

#: What every call within a course may be answered, besides what it gives.
COURSE_ERRORS = build_error_responses(
    NotSignedIn, MissingScope, MissingRole, NotFound, TooManyRequests, 422, 503
)

_MAX_KEY_LENGTH = 200
_KEY = re.compile(r"^[\x21-\x7e]+$")

_KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=_MAX_KEY_LENGTH,
        pattern=_KEY.pattern,
        description="Any text of your own, new for each request. Sent again with the same request, "
        "also in parallel, it gives the same answer and changes nothing.",
        examples=["5f2b8c1e-first-try"],
    ),
]
IfMatchHeader = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=200,
        description="The ETag of what you change, as you have seen it.",
        examples=['"g1"'],
    ),
]


async def _read_key(request: Request, key: _KeyHeader = None) -> SentKey | None:
    if key is None:
        return None
    return make_sent_key(request.method, request.url.path, key, await request.body())


def make_sent_key(method: str, path: str, key: str, body: bytes) -> SentKey:
    """A key that stands for this request and no other."""
    content = f"{method} {path}\n".encode() + body
    return SentKey(key, hashlib.sha256(content).hexdigest())


def is_idempotency_key(text: str) -> bool:
    """Whether a text may be a key."""
    return len(text) <= _MAX_KEY_LENGTH and _KEY.match(text) is not None


SentKeyDep = Annotated[SentKey | None, Depends(_read_key)]


async def create_once(
    service: Service, request: IdempotencyKey | None, *, at: datetime, do: Callable[[Session], str]
) -> IdempotentResponse:
    """Create something that gives a JSON text, unless it was created before under this key."""
    return await service.writer.run(
        lambda session: run_once(session, request, at=at, status=201, do=lambda: do(session))
    )


def to_response(answered: IdempotentResponse, headers: dict[str, str] | None = None) -> Response:
    """The answer of a request that creates."""
    complete = {**(headers or {}), **build_replay_headers(answered)}
    return Response(answered.body, answered.status, complete, "application/json")


def format_etag(version: str) -> str:
    """A version as a strong ETag."""
    return f'"{version}"'


def read_version(header: str | None) -> str:
    """The version that a change names.

    Raises
    ------
    Unconditional
        Where it names none.
    """
    if header is None:
        raise MissingVersion("Send If-Match with the ETag of what you change.")
    return parse_version(header)


def parse_version(header: str) -> str:
    """The version in an If-Match header."""
    text = header.strip()
    if len(text) < 3 or not text.startswith('"') or not text.endswith('"'):
        says = 'An ETag is in quotes, such as "g1".'
        fault = ErrorDetail("If-Match", "value.format", says, source="header")
        raise MalformedRequest.of(fault, code="request.invalid")
    return text[1:-1]
