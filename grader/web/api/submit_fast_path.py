"""Answers that programs send, taken from the server before the app sees them.

A request with a token that is plainly in order goes to the writer at once, which asks for a whole
batch who sends it. All others, such as those of a browser, are left to the app.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from grader.accounts.callers import Credential
from grader.errors import MalformedRequest, Unavailable
from grader.grading.idempotency import IdempotentResponse
from grader.web.api.idempotency import is_idempotency_key, make_sent_key
from grader.web.http.body import BodyLimits, read_json
from grader.web.http.fast_path import FastRequest, FastResponse, FastRoute
from grader.web.params import QuestionNames
from grader.web.service import Service
from grader.web.submissions import SentAnswer, build_attempt_headers, may_send_tokens

#: The route of submitted answers, by far the busiest at a deadline.
SUBMIT_ROUTE = "/api/v1/courses/{course}/assignments/{assignment}/questions/{question}/attempts"

_TOKEN = re.compile(rb"[Bb]earer ([!-~]+)")


class SubmitFastRoute(FastRoute):
    """Submits plain answers."""

    def __init__(self, service: Service, limits: BodyLimits) -> None:
        super().__init__(
            SUBMIT_ROUTE,
            clock=service.clock,
            logs=service.logs,
            metrics=service.metrics,
            is_https=service.is_https,
            hosts=service.hosts,
            most_body_bytes=limits.most_body_bytes,
            refusal_seconds=service.refusal_seconds,
        )
        self._service = service

    def find_refusal(self) -> Unavailable | None:
        """Why the writer has no room for an answer; None where it has."""
        return self._service.writer.find_refusal()

    def begin(self, request: FastRequest) -> _SubmitExchange | None:
        """Queue an answer that comes with a token."""
        token = _TOKEN.fullmatch(request.headers.get(b"authorization", b""))
        if token is None or not may_send_tokens(self._service.budgets, request.address):
            return None
        body, key = bytes(request.body), request.headers.get(b"idempotency-key")
        text = None if key is None else key.decode("latin-1")
        if text is not None and not is_idempotency_key(text):
            return None
        try:
            sent = read_json(body)
        except MalformedRequest:
            return None
        if not isinstance(sent, dict) or sent.keys() != {"answer"}:
            return None
        answer = SentAnswer(
            Credential.of_token(token[1].decode("ascii")),
            *QuestionNames(**request.parameters),
            answer=sent["answer"],
            received_at=request.received_at,
            address=request.address,
            key=None if text is None else make_sent_key("POST", request.path, text, body),
        )
        return _SubmitExchange(answer, self._service.begin_submit(answer))


@dataclass(frozen=True, slots=True)
class _SubmitExchange:
    """An answer that waits for the writer."""

    answer: SentAnswer
    future: asyncio.Future[IdempotentResponse]

    @property
    def caller(self) -> str | None:
        """Who sent it, by an opaque id, once the writer has asked."""
        return self.answer.caller_id

    def respond(self, result: IdempotentResponse) -> FastResponse:
        """The report of the attempt."""
        return FastResponse(
            result.status, result.body.encode(), build_attempt_headers(result, self.answer)
        )
