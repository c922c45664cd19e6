"""Students who send answers until the service has gone, and send again what was not answered."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from bench.load.generators import make_message
from bench.load.students import Student
from bench.torture.connections import Connection, Response
from bench.torture.stores import TortureStore

#: Which share of answers comes with an Idempotency-Key, and how often an acknowledged one is sent
#: again with the key that it had.
_KEYED_SHARE, _REPEATED_SHARE = 0.3, 0.05
_PAUSE_SECONDS = 0.02
_POLL_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request, which can be sent again; `body` is what it was answered before."""

    message: bytes
    has_key: bool
    body: bytes | None = None


@dataclass(slots=True)
class Sender:
    """Students who take turns, with the request that waits for its answer.

    `answered` is a request with a key that was answered.
    """

    students: Sequence[Student]
    count: int = 0
    waiting: SentRequest | None = None
    answered: SentRequest | None = None

    def make_next(self, random: Random) -> SentRequest:
        """An answer that its student has not sent yet."""
        number, turn = divmod(self.count, len(self.students))
        self.count += 1
        has_key = random.random() < _KEYED_SHARE
        key = f"answer-{number:06}" if has_key else ""
        request = self.students[turn].make_request(number)
        return SentRequest(make_message(request, key=key), has_key)


@dataclass(slots=True)
class Traffic:
    """Senders, each with a connection of its own.

    Parameters
    ----------
    acknowledged
        How many attempts were acknowledged.
    lost
        How connections were lost, apart from those of a service that is being killed.
    is_dying
        Whether it is being killed. Until it has gone it may still accept connections.
    findings
        Responses that break a promise.
    counts
        What else happened, by its name.
    is_over
        Whether nothing more is sent.
    """

    store: TortureStore
    senders: Sequence[Sender]
    port: int
    random: Random
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    is_dying: bool = False
    findings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    async def run(self, control: Callable[[Traffic], object]) -> None:
        """Send until all connections are lost, while `control`, in a thread, does its work."""
        working = asyncio.create_task(asyncio.to_thread(control, self))
        try:
            await asyncio.gather(*map(self._send_all, self.senders))
        finally:
            self.is_over = True
            await working

    def stop(self) -> None:
        """Send nothing more once the last request was answered."""
        self.is_over = True

    def wait_for(self, count: int, *, timeout_seconds: float = 60) -> bool:
        """Wait, in a thread, until this many were acknowledged; False if that does not happen."""
        deadline = time.monotonic() + timeout_seconds
        while self.acknowledged < count:
            if self.is_over or time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    async def _send_all(self, sender: Sender) -> None:
        while not self.is_over:
            try:
                connection = await Connection.open(self.port)
                try:
                    while not self.is_over:
                        await self._send_one(connection, sender)
                finally:
                    connection.close()
            except TimeoutError:
                self.findings.append("a request was not answered in time")
                return
            except ConnectionRefusedError:
                # It was killed.
                return
            except (OSError, EOFError) as error:
                if not self.is_dying:
                    self.lost.append(f"a connection was lost: {error!r}")

    async def _send_one(self, connection: Connection, sender: Sender) -> None:
        again = sender.waiting
        if again is None and sender.answered and self.random.random() < _REPEATED_SHARE:
            again = sender.answered
        sent = sender.waiting = again or sender.make_next(self.random)
        response = await connection.ask(sent.message)
        if response.status == 503:
            self._note_refused(response)
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        sender.waiting = None
        self._note_answered(sender, sent, response, is_again=again is not None)

    def _note_refused(self, response: Response) -> None:
        self.counts["refused with 503"] += 1
        if not response.get_header("retry-after"):
            self.findings.append(f"503 without Retry-After: {response.body!r}")

    def _note_answered(
        self, sender: Sender, sent: SentRequest, response: Response, *, is_again: bool
    ) -> None:
        if sent.body is not None:
            self.counts["repeated with their key"] += 1
            if (response.status, response.body) != (201, sent.body):
                self.findings.append(f"another response under the same key: {response.body!r}")
        elif response.status == 201:
            self.acknowledged += 1
            self.store.note_acknowledged(response.body)
            self.counts["stored, though not acknowledged at first"] += bool(
                response.get_header("idempotent-replayed")
            )
            if sent.has_key:
                sender.answered = SentRequest(sent.message, True, response.body)
        elif response.status == 200 and is_again and not sent.has_key:
            # It had been stored before its first sender lost the connection.
            self.counts["stored, though not acknowledged at first"] += 1
        else:
            self.findings.append(f"status {response.status}: {response.body[:500]!r}")


def choose_senders(senders: Sequence[Sender], random: Random, *, least: int) -> list[Sender]:
    """At least this many of the senders, in any order."""
    return random.sample(senders, random.randint(min(least, len(senders)), len(senders)))
