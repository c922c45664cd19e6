"""Admission of large bodies, before they are read."""

from __future__ import annotations

import math
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from fastapi import Request

from grader.web.auth import begin_costly, find_credential, identify_sender
from grader.web.http.costly import LARGE_BODY_BYTES
from grader.web.service import get_service

if TYPE_CHECKING:
    from grader.web.submissions import SentAnswer


class LargeBodies:
    """What is asked of requests with a large body."""

    async def admit(self, request: Request, size: int) -> None:
        """Admit a body of this size, before it is read.

        Raises
        ------
        NotSignedIn
            Where nobody is signed in: strangers have nothing large to say.
        TooManyRequests
            Where the caller has sent too much, or has too much under way.
        """
        if size <= LARGE_BODY_BYTES or has_large_body(request):
            return
        # Most of what is too much is refused before the database is asked whose token it is.
        begin_costly(request, find_credential(request).digest)
        service = get_service(request)
        caller_id = await service.run_in_reader(identify_sender, request)
        service.budgets.spend("body", caller_id, cost=_find_cost(request, size))
        begin_costly(request, caller_id)
        request.state.has_large_body = True

    def take_turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """What keeps others with a large body waiting, if this request has one."""
        return take_turn(request)


# They are hashed and stored, but neither parsed nor read.
_FILE_TYPES = ("application/pdf", "multipart/form-data")
_FILE_FACTOR = 8


def _find_cost(request: Request, size: int) -> int:
    is_file = request.headers.get("content-type", "").startswith(_FILE_TYPES)
    return math.ceil(size / LARGE_BODY_BYTES / (_FILE_FACTOR if is_file else 1))


def has_large_body(request: Request) -> bool:
    """Whether a request was admitted with a large body."""
    return hasattr(request.state, "has_large_body")


def take_turn(request: Request) -> AbstractAsyncContextManager[None]:
    """What a request with a large body waits for, before its body is parsed or read."""
    return get_service(request).costly.turn() if has_large_body(request) else nullcontext()


async def refuse_unreadable(request: Request, answer: SentAnswer) -> None:
    """Read a large answer before it takes the time of the writer, whom everybody waits for.

    Raises
    ------
    AnswerRefused
        Where it cannot be read. Everything else is left to the writer.
    """
    if has_large_body(request):
        async with take_turn(request):
            await get_service(request).run_in_reader(_try_to_read, request, answer)


def _try_to_read(request: Request, answer: SentAnswer) -> None:
    # The service is ready before the engine is imported.
    from grader.web.submissions import refuse_unreadable_answer

    service = get_service(request)
    with service.database.read() as session:
        refuse_unreadable_answer(session, service.context, answer)
