"""The parts that routes work with, put together by the entry points."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeVar, TypeVarTuple

from fastapi import Depends, Request

from grader.errors import AnswerRefused, KeysetError, Unavailable
from grader.grading.idempotency import IdempotentResponse
from grader.store.database import Database, Session
from grader.store.writer import Writer
from grader.web.fragments import FragmentCache
from grader.web.hashing import HashingQueue
from grader.web.http.costly import CostlyRequests
from grader.web.http.hosts import KnownHosts
from grader.web.http.rate_limits import RateLimiter
from grader.web.ops.logs import Logger
from grader.web.ops.metrics import Metrics, count_attempt

if TYPE_CHECKING:
    from grader.grading.context import GradingContext
    from grader.web.submissions import SentAnswer

Clock = Callable[[], datetime]

#: More threads only wait for each other, above all on SQLite.
READER_THREADS = 4

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


@dataclass(frozen=True)
class Service:
    """A service that runs: its database, its one writer, what it keeps for grading."""

    database: Database
    writer: Writer
    make_context: Callable[[], GradingContext]
    clock: Clock
    budgets: RateLimiter
    logs: Logger
    metrics: Metrics
    base_url: str
    """How browsers reach it, without a slash at the end."""
    monotonic: Callable[[], float] = time.monotonic
    """A clock in seconds that nobody can set; a step of `clock` is seen by it."""
    hosts: KnownHosts | None = None
    """The names by which it may be called; None where any will do."""
    fragments: FragmentCache = field(default_factory=FragmentCache)
    """Parts of pages that depend on rubrics and variants alone."""
    readers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(READER_THREADS, "reader")
    )
    """Threads in which the database is read."""
    refusal_seconds: float = 0.0
    """How late at most a refusal is sent to somebody who has used up a budget."""
    anonymous_per_second: float = math.inf
    """How many requests without a credential pass in a second, whoever sends them."""
    costly: CostlyRequests = field(default_factory=CostlyRequests)
    """The costly requests that are under way."""
    hashing: HashingQueue = field(default_factory=HashingQueue)
    """Threads in which passwords are hashed."""
    failed_sign_ins: int = 10
    """Maximum wrong passwords for a login within some minutes."""

    @cached_property
    def context(self) -> GradingContext:
        """What grading keeps in memory, made by the first who needs it."""
        return self.make_context()

    async def run_in_reader(
        self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Call a function in a reader thread; the threads of anyio take twice as long to begin."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.readers, function, *arguments)

    async def submit(self, answer: SentAnswer) -> IdempotentResponse:
        """Judge and store an answer, together with others that wait."""
        return await self.begin_submit(answer)

    def begin_submit(self, answer: SentAnswer) -> asyncio.Future[IdempotentResponse]:
        """The same, for somebody who has the event loop but does not wait.

        Raises
        ------
        Unavailable
            Where there is no room for it.
        """
        future = self.writer.begin(self.submit_batch, answer)
        future.add_done_callback(self._count_outcome)
        return future

    def _count_outcome(self, future: asyncio.Future[IdempotentResponse]) -> None:
        """Count what became of an answer, which is known after the commit."""
        if future.cancelled():
            return
        match future.exception():
            case None:
                response = future.result()
                is_new = response.status == 201 and not response.is_replayed
                count_attempt(self.metrics, "new" if is_new else "repeated")
            case AnswerRefused() as error:
                self.metrics.refused_answers.labels(error.code).inc()
            case KeysetError() as error if not isinstance(error, Unavailable):
                count_attempt(self.metrics, "refused")

    def submit_batch(
        self, session: Session, sent: Sequence[SentAnswer]
    ) -> Sequence[IdempotentResponse | KeysetError]:
        """Judge and store a batch of answers; what the writer calls."""
        # The engine is a fifth of the time of a start; the service is ready without it.
        from grader.web.submissions import submit_sent

        return submit_sent(session, self.context, self.budgets, sent, at=self.clock())

    @property
    def is_https(self) -> bool:
        """Whether cookies may be for https alone."""
        return self.base_url.startswith("https://")


def get_service(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


def get_received_at(request: Request) -> datetime:
    """When the request arrived, before anything else was done with it."""
    moment: datetime = request.state.received_at
    return moment


# A dependency that is not async would be run in a thread of its own.


async def _service(request: Request) -> Service:
    return get_service(request)


async def _received_at(request: Request) -> datetime:
    return get_received_at(request)


ServiceDep = Annotated[Service, Depends(_service)]
ReceivedAt = Annotated[datetime, Depends(_received_at)]
