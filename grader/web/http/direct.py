"""Calls that are answered past FastAPI: those that are made often, and are mostly in order.

FastAPI's layers take longer than such a call itself. A direct route answers what is plainly in
order; FastAPI looks at everything else, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from grader.errors import KeysetError
from grader.web.errors.problems import build_error_headers, build_problem_response, to_problem
from grader.web.http.body import (
    JSON,
    StrictRoute,
    get_body_limits,
    parse_body,
    read_body,
    read_json,
)


class DirectRequest(Request):
    """A request that FastAPI has not seen; what was read of it can be handed on."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self.sent_body: bytes | None = None

    async def read_json(self) -> Any:
        """The body, decoded; None where there is none."""
        limit = get_body_limits(self).most_body_bytes
        body = self.sent_body = await read_body(self, types=(JSON,), most_bytes=limit)
        return await parse_body(self, body, read_json) if body else None

    async def receive_again(self) -> Message:
        """What the request brings, from its beginning: the `receive` of whoever comes next."""
        if self.sent_body is None:
            return await self.receive()
        body, self.sent_body = self.sent_body, None
        return {"type": "http.request", "body": body, "more_body": False}


class DirectAnswers:
    """What a route needs to answer requests before FastAPI sees them."""

    async def answer_directly(self, request: DirectRequest) -> Response | None:
        """Answer a request that is plainly in order; None leaves it to FastAPI."""
        return None

    async def try_directly(self, request: DirectRequest, send: Send) -> bool:
        """Answer a request, or refuse it, unless it is left to FastAPI."""
        try:
            response = await self.answer_directly(request)
        except KeysetError as error:
            response = build_problem_response(
                to_problem(error), request, build_error_headers(error)
            )
        if response is None:
            return False
        await response(request.scope, request.receive, send)
        return True


class DirectRoute(DirectAnswers, StrictRoute):
    """A direct route of the API."""


def make_json_response(model: BaseModel, headers: Mapping[str, str]) -> Response:
    """A model as FastAPI would send it."""
    content = model.__pydantic_serializer__.to_json(model, by_alias=True)
    return Response(content, media_type=JSON, headers=headers)
