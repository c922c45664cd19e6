"""Load: `wrk` in a closed loop, and an open loop at a fixed rate. No request is sent twice.

In a closed loop every connection waits for its answer before it sends the next request, so that a
slow server is asked less. In an open loop requests are due at fixed times, and the time of each is
counted from when it was due.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.load.students import PATH

_SCRIPT = Path(__file__).with_name("requests.lua")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a generator saw; times in milliseconds."""

    answered: int
    accepted: int
    failed: int
    seconds: float
    p50: float
    p99: float
    most: float
    generator_seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Accepted attempts per second."""
        return self.accepted / self.seconds


def find_wrk() -> str:
    """The program `wrk`; RuntimeError where it is missing."""
    found = shutil.which("wrk")
    if found is None:
        raise RuntimeError("wrk is missing; on Debian: apt-get update && apt-get install wrk")
    return found


def run_closed_loop(
    url: str, requests: Path, *, connections: int, seconds: int = 30, path: str = PATH
) -> LoadResult:
    """Send from many connections until the time is over or all requests are sent."""
    command = [
        find_wrk(), "--threads", "1", "--connections", str(connections),
        "--duration", f"{seconds}s", "--timeout", "30s", "--script", str(_SCRIPT), url,
        "--", str(requests), path,
    ]  # fmt: skip
    before = _measure_children()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return LoadResult(
        answered=told["answered"],
        accepted=told["answered"] - told["refused"],
        failed=told["failed"] + told["timeouts"],
        seconds=told["seconds"],
        p50=told["p50"],
        p99=told["p99"],
        most=told["most"],
        generator_seconds=_measure_children() - before,
    )


def _measure_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class OpenLoopAnswer(NamedTuple):
    """An answer: its status, when its request was due after the start, and when it came."""

    status: int
    due: float
    answered: float


@dataclass(slots=True)
class OpenLoopResult:
    """What came of an open loop; `seconds` is how long it sent requests."""

    seconds: float = 0.0
    answers: list[OpenLoopAnswer] = field(default_factory=list)
    lacks_retry_after: int = 0
    failed: int = 0

    def list_times(self, status: int) -> list[float]:
        """How long answers with this status took, in milliseconds, in order."""
        return sorted(
            1000 * (each.answered - each.due) for each in self.answers if each.status == status
        )

    def compute_rate(self, status: int) -> float:
        """Answers per second with this status that came while requests were sent.

        Only the second half counts: in the first one all connections are opened.
        """
        half = self.seconds / 2
        came = [each.answered for each in self.answers if each.status == status]
        return sum(half < each <= self.seconds for each in came) / half

    @property
    def counts(self) -> Counter[int]:
        """How many answers have which status."""
        return Counter(each.status for each in self.answers)


def take_percentile(times: Sequence[float], share: float) -> float:
    """The time within which this share of all answers came; not a number where there are none."""
    return times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


def run_open_loop(
    port: int, requests: Sequence[bytes], *, rate: float, path: str = PATH
) -> OpenLoopResult:
    """Send requests at fixed times, whether or not earlier ones are answered."""
    messages = [make_message(each, path) for each in requests]
    # It shares the machine with the server, and must not take more of it than it needs.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_OpenLoop(port).run(messages, rate=rate))


def make_message(request: bytes, path: str = PATH, *, key: str = "") -> bytes:
    """A request as it is sent, with an Idempotency-Key if there is one."""
    token, _, body = request.partition(b"\t")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: load\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token.decode()}\r\nContent-Length: {len(body)}\r\n"
    )
    if key:
        head += f"Idempotency-Key: {key}\r\n"
    return f"{head}\r\n".encode() + body


class _OpenLoop:
    """Connections that wait for their next request, and what came of the earlier ones."""

    def __init__(self, port: int) -> None:
        self.idle = deque[_Connection]()
        self.result = OpenLoopResult()
        self._port = port
        self._left, self._started = 0, 0.0
        self._is_done = asyncio.Event()

    async def run(self, messages: Sequence[bytes], *, rate: float) -> OpenLoopResult:
        """Send each message when it is due, and wait for all answers."""
        loop = asyncio.get_running_loop()
        self._left, self._started = len(messages), loop.time()
        opening: set[asyncio.Task[None]] = set()
        for number, message in enumerate(messages):
            due = self._started + number / rate
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            if self.idle:
                self.idle.pop().send(message, due)
                continue
            task = asyncio.create_task(self._open(message, due))
            opening.add(task)
            task.add_done_callback(opening.discard)
        await self._is_done.wait()
        self.result.seconds = len(messages) / rate
        while self.idle:
            self.idle.pop().close()
        return self.result

    async def _open(self, message: bytes, due: float) -> None:
        """Send a message on a new connection."""
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: _Connection(self), "127.0.0.1", self._port
            )
        except OSError:
            self.count_failed()
        else:
            connection.send(message, due)

    def count_failed(self) -> None:
        """Count a request that got no answer."""
        self.result.failed += 1
        self._count_done()

    def count_answered(
        self, status: int, due: float, answered: float, *, has_retry_after: bool
    ) -> None:
        """Count an answer."""
        answer = OpenLoopAnswer(status, due - self._started, answered - self._started)
        self.result.answers.append(answer)
        self.result.lacks_retry_after += status == 503 and not has_retry_after
        self._count_done()

    def _count_done(self) -> None:
        self._left -= 1
        if not self._left:
            self._is_done.set()


class _Connection(asyncio.Protocol):
    """One connection, which has sent a request or waits for the next one."""

    def __init__(self, owner: _OpenLoop) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._time = asyncio.get_running_loop().time
        self._due: float | None = None
        self._received = b""

    # A TCP connection has both directions, though uvloop's is of a class of its own.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._due is not None:
            self._due = None
            self._owner.count_failed()
        elif self in self._owner.idle:
            self._owner.idle.remove(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def send(self, message: bytes, due: float) -> None:
        assert self._transport is not None, "it is connected"
        self._due = due
        self._received = b""
        self._transport.write(message)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or self._due is None:
            return
        lowered = head.lower()
        length = int(lowered.partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        if len(body) < length:
            return
        due, self._due = self._due, None
        if self._transport is not None and not self._transport.is_closing():
            self._owner.idle.append(self)
        self._owner.count_answered(
            int(head[9:12]), due, self._time(), has_retry_after=b"\r\nretry-after: " in lowered
        )
