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


@dataclass(slots=True)
class OpenLoopResult:
    """Every answer: its status, and how long after its request was due it came."""

    seconds: float = 0.0
    answers: list[tuple[int, float]] = field(default_factory=list)
    lacks_retry_after: int = 0
    failed: int = 0

    def times(self, *statuses: int) -> list[float]:
        """The times of the answers with these statuses in milliseconds, in order."""
        return sorted(1000 * each for status, each in self.answers if status in statuses)

    @property
    def counts(self) -> Counter[int]:
        """How many answers have which status."""
        return Counter(status for status, _ in self.answers)


def take_percentile(times: Sequence[float], share: float) -> float:
    """The time within which this share of all answers came; not a number where there are none."""
    return times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


async def run_open_loop(
    port: int, requests: Sequence[bytes], *, rate: float, path: str = PATH
) -> OpenLoopResult:
    """Send requests at fixed times, whether or not earlier ones are answered."""
    loop = asyncio.get_running_loop()
    result, idle = OpenLoopResult(), deque[_Connection]()
    messages = [_to_message(each, path) for each in requests]
    pending: set[asyncio.Task[None]] = set()
    started = loop.time()
    for number, message in enumerate(messages):
        due = started + number / rate
        if due > loop.time():
            await asyncio.sleep(due - loop.time())
        task = asyncio.create_task(_send(port, message, due, idle, result))
        pending.add(task)
        task.add_done_callback(pending.discard)
    while pending:
        await asyncio.wait(pending)
    result.seconds = len(messages) / rate
    while idle:
        idle.pop().close()
    return result


def _to_message(request: bytes, path: str) -> bytes:
    token, _, body = request.partition(b"\t")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: load\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token.decode()}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _send(
    port: int, message: bytes, due: float, idle: deque[_Connection], result: OpenLoopResult
) -> None:
    loop = asyncio.get_running_loop()
    try:
        if idle:
            connection = idle.pop()
        else:
            _, connection = await loop.create_connection(_Connection, "127.0.0.1", port)
        status, has_retry_after = await connection.exchange(message)
    except OSError:
        result.failed += 1
        return
    result.answers.append((status, loop.time() - due))
    result.lacks_retry_after += status == 503 and not has_retry_after
    if connection.is_open:
        idle.append(connection)


class _Connection(asyncio.Protocol):
    """One connection that sends a request and waits for its answer."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bool]] | None = None
        self._received = bytearray()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "TCP has both directions"
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError())

    async def exchange(self, message: bytes) -> tuple[int, bool]:
        assert self._transport is not None, "it is connected"
        self._answer = asyncio.get_running_loop().create_future()
        self._received.clear()
        self._transport.write(message)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or self._answer is None or self._answer.done():
            return
        lowered = bytes(head).lower()
        length = int(lowered.partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        if len(body) >= length:
            self._answer.set_result((int(head[9:12]), b"\r\nretry-after: " in lowered))
