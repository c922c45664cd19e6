"""The writer of a process: changes are queued and carried out in batches.

A batch is one transaction: its pieces go to their handler together, which reads and writes for all
of them with one statement per table. Callers get their results after the commit. Only a batch that
fails is repeated piece by piece, so that one bad piece does not spoil the others.

SQLite has one write transaction at a time. On PostgreSQL there are two, so that one computes while
the other waits for the database.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from grader.errors import KeysetError, Unavailable
from grader.store.database import Database, Session

Piece = TypeVar("Piece")
Result = TypeVar("Result")

#: Does a group of pieces in a session; a piece that cannot be done gives its error, not a raise.
Handler = Callable[[Session, Sequence[Piece]], Sequence[Result | KeysetError]]

#: Maximum pieces per transaction.
MAX_BATCH_SIZE = 64
#: How long pieces wait for a full batch while another transaction is under way. Larger batches
#: cost less for each piece, but a long transaction must not keep others waiting.
_MAX_GATHERING_SECONDS = 0.05
#: Maximum time that a caller waits.
MAX_WAIT_SECONDS = 30.0
#: Maximum pieces in the queue, which takes a few seconds to work through; more are refused at once.
MAX_QUEUE_LENGTH = 2048
#: From here on there is one transaction at a time: the event loop, which refuses what finds no
#: place, would wait for two of them, and no more would be done.
_CROWDED_QUEUE_LENGTH = MAX_QUEUE_LENGTH // 2


@dataclass(frozen=True, slots=True)
class _QueuedPiece:
    """A piece, and who waits for it: a thread, or a task of an event loop."""

    handler: Handler[Any, Any]
    piece: Any
    future: Future[Any] | asyncio.Future[Any]


class Writer:
    """Carries out changes in threads of its own.

    Parameters
    ----------
    transactions
        How many may be under way at once: by default one on SQLite, and two on PostgreSQL.
    observe_group
        Is told the size of each batch.
    """

    def __init__(
        self,
        database: Database,
        *,
        transactions: int | None = None,
        observe_group: Callable[[int], None] | None = None,
    ) -> None:
        self.database = database
        self._observe_group = observe_group
        self._line: deque[_QueuedPiece] = deque()
        self._changed = threading.Condition()
        self._is_stopping = False
        #: How many transactions are under way.
        self._busy = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"writer-{number}", daemon=True)
            for number in range(transactions or (1 if database.is_sqlite else 2))
        ]

    def start(self) -> Writer:
        """Start the threads."""
        for each in self._threads:
            each.start()
        return self

    def stop(self) -> None:
        """Finish what is queued, accept nothing more, and end the threads."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        for each in self._threads:
            if each.is_alive():
                each.join()

    @property
    def is_working(self) -> bool:
        """Whether it accepts changes."""
        return all(each.is_alive() for each in self._threads) and not self._is_stopping

    @property
    def waiting(self) -> int:
        """The number of queued pieces."""
        return len(self._line)

    def put(self, handler: Handler[Piece, Result], piece: Piece) -> Future[Result]:
        """Queue a piece; the future is done after the commit.

        Raises
        ------
        Unavailable
            If the queue is full or the writer is stopping.
        """
        future: Future[Result] = Future()
        self._queue(_QueuedPiece(handler, piece, future))
        return future

    def _queue(self, queued: _QueuedPiece) -> None:
        with self._changed:
            self.refuse_unavailable()
            self._line.append(queued)
            self._changed.notify()

    def find_refusal(self) -> Unavailable | None:
        """Why there is no place in the queue; None where there is."""
        if self._is_stopping:
            return Unavailable("The service is about to end; nothing was changed. Try again.")
        if len(self._line) >= MAX_QUEUE_LENGTH:
            return Unavailable("Too much is waiting just now; nothing was changed. Try again.")
        return None

    def refuse_unavailable(self) -> None:
        """Refuse a caller at once for whom there will be no place in the queue."""
        refusal = self.find_refusal()
        if refusal is not None:
            raise refusal

    def begin(self, handler: Handler[Piece, Result], piece: Piece) -> asyncio.Future[Result]:
        """Queue a piece for the running event loop, with others for the same handler.

        The future is done after the commit. It is `Unavailable` where that takes too long; then it
        is unknown whether the piece was carried out.

        Raises
        ------
        Unavailable
            If the queue is full or the writer is stopping.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._queue(_QueuedPiece(handler, piece, future))
        timer = loop.call_later(MAX_WAIT_SECONDS, _give_up, future)
        future.add_done_callback(lambda _: timer.cancel())
        return future

    async def submit(self, handler: Handler[Piece, Result], piece: Piece) -> Result:
        """Carry out a piece, together with others that are queued for the same handler.

        Raises
        ------
        Unavailable
            As `begin` says.
        """
        return await self.begin(handler, piece)

    async def run(self, change: Callable[[Session], Result]) -> Result:
        """Carry out a single change."""
        return await self.submit(_run_single, change)

    def run_now(self, change: Callable[[Session], Result]) -> Result:
        """Carry out a single change and wait for it."""
        result: Result = self.put(_run_single, change).result()
        return result

    def note(self, change: Callable[[Session], Result]) -> None:
        """Carry out a change soon; nobody waits for it, and it may be lost."""
        with suppress(Unavailable):
            self.put(_run_single, change)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._line and not self._is_stopping:
                    self._changed.wait()
                if self._busy:
                    self._changed.wait_for(self._is_worthwhile, _MAX_GATHERING_SECONDS)
                    self._changed.wait_for(self._leaves_room)
                if not self._line:
                    if self._is_stopping:
                        return
                    # The other thread has taken it.
                    continue
                group = self._take_group()
                self._busy += 1
            try:
                self._do(group)
            finally:
                with self._changed:
                    self._busy -= 1
                    self._changed.notify()

    def _is_worthwhile(self) -> bool:
        """Whether to begin a transaction, also beside another one."""
        return not self._busy or len(self._line) >= MAX_BATCH_SIZE

    def _leaves_room(self) -> bool:
        """Whether the event loop still gets its turns beside one more transaction."""
        return not self._busy or len(self._line) < _CROWDED_QUEUE_LENGTH

    def _take_group(self) -> list[_QueuedPiece]:
        """The first in line, and those behind it that go to the same handler."""
        first = self._line.popleft()
        group = [first]
        if first.handler is _run_single:
            return group
        while self._line and len(group) < MAX_BATCH_SIZE and self._line[0].handler == first.handler:
            group.append(self._line.popleft())
        return group

    def _do(self, waiting: Sequence[_QueuedPiece]) -> None:
        # Whoever gave up before it began is told so, and it must not happen later.
        group = [each for each in waiting if not each.future.done()]
        if not group:
            return
        if self._observe_group is not None:
            self._observe_group(len(group))
        try:
            results = self._carry_out(group)
        except BaseException as error:
            if len(group) == 1:
                # These frames know the future, which is about to know the error, which knows them:
                # they would stay in memory until the garbage collector looks for them.
                traceback.clear_frames(error.__traceback__)
                _resolve_all(group, [error])
                del group, waiting
                return
        else:
            _resolve_all(group, results)
            return
        for each in group:
            self._do([each])

    def _carry_out(self, group: Sequence[_QueuedPiece]) -> Sequence[Any]:
        try:
            return self._in_transaction(group)
        except IntegrityError:
            if len(group) > 1:
                raise
        # Another process was faster; what it wrote is seen now.
        return self._in_transaction(group)

    def _in_transaction(self, group: Sequence[_QueuedPiece]) -> Sequence[Any]:
        with self.database.write() as session:
            return group[0].handler(session, [each.piece for each in group])


def _give_up(future: asyncio.Future[Any]) -> None:
    """Tell somebody who has waited too long."""
    if not future.done():
        future.set_exception(
            Unavailable(
                "The database does not answer. It is not known yet whether this was done; send it "
                "again with the same Idempotency-Key, and it counts once."
            )
        )


def _run_single(
    session: Session, changes: Sequence[Callable[[Session], Any]]
) -> Sequence[Any | KeysetError]:
    (change,) = changes
    return [change(session)]


def _resolve_all(group: Sequence[_QueuedPiece], results: Sequence[Any]) -> None:
    """Tell everybody who waits; each event loop is woken once for all of its own."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for each, result in zip(group, results, strict=True):
        if isinstance(each.future, Future):
            # Whoever waited may have given up.
            if each.future.set_running_or_notify_cancel():
                _set(each.future, result)
        else:
            by_loop.setdefault(each.future.get_loop(), []).append((each.future, result))
    for loop, waiting in by_loop.items():
        # A loop that was closed meanwhile has nobody who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_set_waiting, waiting)


def _set_waiting(waiting: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in waiting:
        if not future.done():
            _set(future, result)


def _set(future: Future[Any] | asyncio.Future[Any], result: object) -> None:
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)
