"""An attack from within and from without, while a class hands in.

Sixteen students send bodies of a megabyte that cost time to read, each on eight connections, and a
hundred addresses that nobody knows ask for what anybody may ask, send tokens that do not exist, or
send requests ahead without reading the answers. Everybody sends again at once. Meanwhile other
students hand in at a steady pace, within the default budgets: their 99th percentile may grow by a
factor of three at most, compared with the calm turns of the same run, and none may be refused.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import orjson
import uvloop

from bench.load.generators import make_message
from bench.load.students import PATH, Student
from bench.torture.connections import Connection
from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store

STUDENTS = 20
#: Every student of the class hands in once a second, which the default budgets allow.
_PAUSE_SECONDS = 1.0
MOST_FACTOR = 3.0
_ATTACKERS, _CONNECTIONS = 16, 8
ADDRESSES = 100
#: What the attack itself takes from the processor is less urgent than the service and the class.
_NICENESS = 10
_MEGABYTE = 1 << 20
_SENT_AHEAD = 2000


@dataclass(frozen=True, slots=True)
class AttackPlan:
    """How long and how often to attack."""

    database: str
    turns: int
    turn_seconds: float
    seed: int
    evidence: Path
    most_factor: float = MOST_FACTOR


def run_attack(plan: AttackPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Let the class hand in, in turns calmly and under attack."""
    result = CampaignResult("attack", plan.database)
    started = time.monotonic()
    with (
        open_store(
            plan.database, result, evidence=plan.evidence, students=STUDENTS + _ATTACKERS
        ) as store,
        store.run_service(workers=1, settings={}) as server,
    ):
        school = _Class(store, store.students[:STUDENTS], server.port, result)
        attackers = [each.token for each in store.students[STUDENTS:]]
        calm, attacked = list[float](), list[float]()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            # The first answers find nothing prepared, and the manual is made once.
            runner.run(_ask_for_manual(server.port))
            runner.run(school.hand_in(plan.turn_seconds / 2))
            for _ in range(plan.turns):
                calm += runner.run(school.hand_in(plan.turn_seconds))
                with _attacking(server.port, attackers):
                    attacked += runner.run(school.hand_in(plan.turn_seconds))
                result.cycles += 1
                advance(1)
        _compare(plan, result, calm, attacked)
    result.trials = len(attacked)
    result.seconds = time.monotonic() - started
    return result


def _compare(
    plan: AttackPlan, result: CampaignResult, calm: Sequence[float], attacked: Sequence[float]
) -> None:
    for name, seconds in (("calm", calm), ("attacked", attacked)):
        milliseconds = 1000 * _find_percentile(seconds, 50)
        result.counts[f"ms at most for 50 % when {name}"] = round(milliseconds)
    factor = _find_percentile(attacked, 99) / _find_percentile(calm, 99)
    result.summary = (
        f"{factor:.1f} times as long: 99 % within {1000 * _find_percentile(calm, 99):.0f} ms when "
        f"calm, {1000 * _find_percentile(attacked, 99):.0f} ms under attack"
    )
    if factor > plan.most_factor:
        result.findings.append(f"99 % of the class waited {factor:.1f} times as long under attack")


def _find_percentile(values: Sequence[float], share: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


@dataclass(slots=True)
class _Class:
    """Students who hand in at a steady pace, each on a connection of their own."""

    store: TortureStore
    students: Sequence[Student]
    port: int
    result: CampaignResult
    #: How many answers each has sent so far.
    sent: int = 0
    waits: list[float] = field(default_factory=list)

    async def hand_in(self, seconds: float) -> list[float]:
        """How long each of their answers took."""
        self.waits = []
        count = max(1, round(seconds / _PAUSE_SECONDS))
        await asyncio.gather(
            *(self._work(place, student, count) for place, student in enumerate(self.students))
        )
        self.sent += count
        return self.waits

    async def _work(self, place: int, student: Student, count: int) -> None:
        connection = await Connection.open(self.port)
        loop = asyncio.get_running_loop()
        first = loop.time() + _PAUSE_SECONDS * place / len(self.students)
        for turn in range(count):
            due = first + turn * _PAUSE_SECONDS
            await asyncio.sleep(max(0.0, due - loop.time()))
            response = await connection.ask(make_message(student.make_request(self.sent + turn)))
            # Counted from when it was due: who waits for an answer cannot send the next one.
            self.waits.append(loop.time() - due)
            if response.status == 201:
                self.result.acknowledged += 1
                self.store.note_acknowledged(response.body)
            else:
                self.result.findings.append(f"{response.status}: {response.body[:300]!r}")
        connection.close()


async def _ask_for_manual(port: int) -> None:
    connection = await Connection.open(port)
    for path in ("/openapi.json", "/docs"):
        await connection.ask(_get(path))
    connection.close()


# The attackers, in a process of their own


@contextmanager
def _attacking(port: int, tokens: Sequence[str]) -> Iterator[None]:
    """Attack until the end of the block."""
    command = [sys.executable, "-m", "bench.torture.attack", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        try:
            process.stdin.write(orjson.dumps(tokens) + b"\n")
            process.stdin.flush()
            # It says so when all of its connections are there.
            process.stdout.readline()
            yield
        finally:
            process.kill()


def main() -> None:
    """Attack a port with the tokens that come by standard input, until it is killed."""
    os.nice(_NICENESS)
    port, tokens = int(sys.argv[1]), orjson.loads(sys.stdin.readline())
    uvloop.run(_attack(port, tokens))


async def _attack(port: int, tokens: Sequence[str]) -> None:
    bodies = _make_bodies()
    attackers = [
        _repeat(port, [_make_request(token, path, body) for body in bodies], shift=shift)
        for token in tokens
        for shift, path in enumerate([PATH, PATH.replace("/attempts", "/check")] * 4)
    ]
    strangers = [
        _attack_as_stranger(port, f"127.0.{1 + number // 250}.{1 + number % 250}", number)
        for number in range(ADDRESSES)
    ]
    print("ready", flush=True)
    await asyncio.gather(*attackers, *strangers)


def _make_bodies() -> list[bytes]:
    """Bodies of about a megabyte that each take time at another place."""
    fields = ",".join(f'"f{number}":1' for number in range(80_000))
    return [
        b'{"answer": {"q": [' + b"1," * 500_000 + b"1]}}",
        b'{"answer": {"q": [' + b"1e300," * 170_000 + b"1]}}",
        b'{"answer": {"q": [' + b"[]," * 300_000 + b"1]}}",
        b'{"answer": {' + fields.encode() + b"}}",
        b'{"answer": {"q": "' + b"1 " * 99_000 + b'"}}',
        b'{"answer": {"q": "' + b"\\u00e9" * 170_000 + b'"}}',
    ]


def _make_request(token: str, path: str, body: bytes) -> bytes:
    return make_message(token.encode() + b"\t" + body, path)


async def _repeat(port: int, requests: Sequence[bytes], *, shift: int, address: str = "") -> None:
    """Send one request after the other for ever; a connection that is cut is opened again."""
    waiting = cycle([*requests[shift:], *requests[:shift]])
    while True:
        with suppress(OSError, EOFError, asyncio.IncompleteReadError):
            connection = await Connection.open(port, address)
            try:
                for request in waiting:
                    await connection.ask(request)
            finally:
                connection.close()


async def _attack_as_stranger(port: int, address: str, number: int) -> None:
    wrong = "keyset_" + "x" * 43
    answer = b'{"answer": {"q": "mu_a + mu_b"}}'
    match number % 5:
        case 0:
            await _repeat(port, [_get("/openapi.json")], shift=0, address=address)
        case 1:
            paths = ["/sign-in", "/metrics", "/docs", "/static/keyset.css", "/nowhere"]
            await _repeat(port, [_get(each) for each in paths], shift=0, address=address)
        case 2:
            await _repeat(port, [_make_request(wrong, PATH, answer)], shift=0, address=address)
        case 3:
            path = PATH.removesuffix("/attempts")
            await _repeat(port, [_get(path, token=wrong)], shift=0, address=address)
        case _:
            await _send_ahead(port, address)


def _get(path: str, *, token: str = "") -> bytes:
    credential = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: load\r\n{credential}\r\n".encode()


async def _send_ahead(port: int, address: str) -> None:
    """Send thousands of requests and read no answer, again and again."""
    while True:
        with suppress(OSError, EOFError):
            connection = await Connection.open(port, address)
            connection.send(_get("/docs") * _SENT_AHEAD)
            await asyncio.sleep(1)
            connection.close()


if __name__ == "__main__":
    main()
