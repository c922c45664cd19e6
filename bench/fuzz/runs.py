"""A run: a real server with a store of its own, and one sender that sends request after request.

Requests go one at a time, so that the processor time of the server between two answers is the cost
of one request. Several servers run side by side, each with every n-th number.
"""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import orjson

from bench.fuzz.course import PEOPLE, RUN, fill_store, restore_roles
from bench.fuzz.pages import explore
from bench.fuzz.requests import RequestMaker, list_operations, list_questions
from bench.fuzz.rubrics import load_mutated
from bench.fuzz.sending import (
    Connection,
    FuzzAnswer,
    FuzzRequest,
    ServerClock,
    find_fault,
)
from bench.fuzz.values import Mutator, write_json
from bench.load.processes import RunningServer, measure_memory, run_service
from grader.rubric.catalog import get_shipped_folder, load_catalog
from grader.store.database import open_database
from grader.store.migrations import migrate_up
from grader.store.queries.people import find_person

#: The processor time that no request may cost, in seconds.
MOST_CPU_SECONDS: Final = 0.1
_RESTORE_EVERY: Final = 500
#: Budgets are not what is tried here.
_UNLIMITED: Final = {
    "GRADER_READS_PER_MINUTE": "1000000000",
    "GRADER_CHECKS_PER_MINUTE": "1000000000",
    "GRADER_MEGABYTES_PER_MINUTE": "1000000000",
    "GRADER_ANONYMOUS_PER_MINUTE": "1000000000",
    "GRADER_FAILED_SIGN_INS": "1000000000",
    "GRADER_SUBMITS_PER_MINUTE": "1000000000",
    "GRADER_SIGN_INS_PER_MINUTE": "1000000000",
    # Every wrong token would take a second.
    "GRADER_REFUSAL_SECONDS": "0",
    "GRADER_LOG_LEVEL": "error",
}


@dataclass(slots=True)
class PartResult:
    """What came of the requests of one part."""

    requests: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    faults: int = 0
    cpu_seconds: float = 0.0
    slowest_seconds: float = 0.0
    slowest: int = -1
    """The number of the slowest request."""

    def add(self, number: int, status: str, seconds: float) -> None:
        """Count one request."""
        self.requests += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.cpu_seconds += seconds
        if seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest = seconds, number

    def merge(self, other: PartResult) -> None:
        """Add those of another sender."""
        self.requests += other.requests
        self.statuses = dict(Counter(self.statuses) + Counter(other.statuses))
        self.faults += other.faults
        self.cpu_seconds += other.cpu_seconds
        if other.slowest_seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest = other.slowest_seconds, other.slowest


@dataclass(slots=True)
class FuzzResult:
    """What came of a run, or of a share of it."""

    parts: dict[str, PartResult] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    memory: list[tuple[int, float]] = field(default_factory=list)
    """Pairs of a number of requests and the server's resident memory after them, in MiB."""
    restored: int = 0
    is_verified: bool = True

    def part(self, name: str) -> PartResult:
        """The result of a part."""
        return self.parts.setdefault(name, PartResult())

    def merge(self, other: FuzzResult) -> None:
        """Add what another sender saw."""
        for name, part in other.parts.items():
            self.part(name).merge(part)
        self.faults += other.faults
        self.restored += other.restored
        self.is_verified = self.is_verified and other.is_verified

    def to_json(self) -> dict[str, Any]:
        """The result for a file."""
        return {
            "parts": {name: asdict(part) for name, part in self.parts.items()},
            "faults": [{**each, "request": None} for each in self.faults],
            "memory": self.memory,
            "verified": self.is_verified,
        }


@dataclass(frozen=True, slots=True)
class Share:
    """The numbers that one sender sends: every `step`-th from `first` below `stop`."""

    seed: int
    first: int
    step: int
    stop: int
    most_bytes: int = 65_536
    only: str = ""
    sample_every: int = 2000
    most_seconds: float = float("inf")
    """After this no more requests are sent."""


def run_share(folder: Path, share: Share, tell: Callable[[int], None]) -> FuzzResult:
    """Fill a store, serve it, send the requests of a share, and verify the store."""
    url = f"sqlite:///{folder / 'service.sqlite'}"
    migrate_up(url)
    database = open_database(url)
    fill_store(database)
    with run_service(url, workers=1, folder=folder, settings=_UNLIMITED) as server:
        result = _Sender(server, share, database.url.render_as_string()).run(tell)
    database.close()
    result.is_verified = verify_store(url, folder)
    return result


def work_share(folder: Path, share: Share, told: Any) -> None:
    """The same in a process of its own: `told` is a queue for the progress and the result."""
    folder.mkdir()
    told.put(run_share(folder, share, told.put))


class _Sender:
    def __init__(self, server: RunningServer, share: Share, url: str) -> None:
        self._server = server
        self._share = share
        self._url = url
        self._clock = ServerClock(server.process.pid)
        self._connection = Connection(server.port, self._clock)
        self._result = FuzzResult()
        self._maker = self._make_maker()

    def _make_maker(self) -> RequestMaker:
        spec = httpx2.get(f"{self._server.url}/openapi.json", timeout=60).json()
        questions = list_questions()
        ids: dict[str, list[str]] = {"attempt_id": [], "upload_id": [], "token_id": ["tok_none"]}
        for number, question in enumerate(questions):
            who, path = f"student-{number}", f"/api/v1{question.path}/attempts"
            # All examples are judged before the first look at the memory, because the noise of
            # their key sets stays there: 52 MiB for all shipped questions, and never more than 256.
            for answer in question.answers:
                self._send_json(who, path, write_json({"answer": answer}))
            sent = self._connection.send(FuzzRequest.call("", who, "GET", path))
            if sent is not None and sent.status == 200:
                ids["attempt_id"] += [each["id"] for each in orjson.loads(sent.body)]
        pdf = ("Content-Type", "application/pdf")
        target = f"/api/v1/courses/{RUN}/uploads"
        sent = self._connection.send(
            FuzzRequest.call("", "student-0", "POST", target, pdf, body=b"%PDF-1.7 a")
        )
        if sent is not None and sent.status == 201:
            ids["upload_id"].append(orjson.loads(sent.body)["id"])
        people = ["student-0", "student-1", "assistant-0", "instructor-0", "operator-0"]
        site = explore(self._connection, people)
        return RequestMaker(
            self._share.seed,
            list_operations(spec),
            questions,
            site,
            ids,
            most_bytes=self._share.most_bytes,
            only=self._share.only,
        )

    def _send_json(self, who: str, target: str, body: bytes) -> FuzzAnswer | None:
        kind = ("Content-Type", "application/json")
        return self._connection.send(FuzzRequest.call("", who, "POST", target, kind, body=body))

    def run(self, tell: Callable[[int], None]) -> FuzzResult:
        """Send all requests."""
        share, done = self._share, 0
        until = time.monotonic() + share.most_seconds
        for number in range(share.first, share.stop, share.step):
            if time.monotonic() > until:
                break
            if done % share.sample_every == 0:
                self._sample_memory(done)
            if done % _RESTORE_EVERY == 0:
                self._restore()
            self._try(number)
            done += 1
            if done % 50 == 0:
                tell(50)
        tell(done % 50)
        self._sample_memory(done)
        self._connection.close()
        self._clock.close()
        return self._result

    def _try(self, number: int) -> None:
        request = self._maker.make(number)
        part = self._result.part(request.part)
        try:
            answer = self._connection.send(request)
            fault = find_fault(request, answer)
        except TimeoutError:
            answer, fault = None, "no end"
            self._connection.close()
        except (ConnectionError, ValueError) as error:
            answer, fault = None, f"no HTTP: {error}"
            self._connection.close()
        seconds = answer.seconds if answer is not None else 0.0
        if seconds > MOST_CPU_SECONDS:
            seconds = min(seconds, self._measure_again(request))
            if seconds > MOST_CPU_SECONDS:
                fault = fault or f"{1000 * seconds:.0f} ms of CPU"
        part.add(number, f"{answer.status // 100}xx" if answer else "none", seconds)
        if fault:
            part.faults += 1
            self._keep_fault(number, request, fault, answer)

    def _measure_again(self, request: FuzzRequest) -> float:
        """What a request costs somebody else, who has not sent it yet; the lesser of two."""
        role = request.who.partition("-")[0]
        others = [each for each in PEOPLE if each.startswith(role) and each != request.who]
        rng = random.Random(request.body)
        costs = []
        for _ in range(2):
            again = request.sent_by(rng.choice(others)) if others else request
            try:
                answer = self._connection.send(again)
            except (ConnectionError, TimeoutError, ValueError):
                self._connection.close()
                continue
            costs += [answer.seconds] if answer is not None else []
        return min(costs, default=0.0)

    def _keep_fault(
        self, number: int, request: FuzzRequest, fault: str, answer: FuzzAnswer | None
    ) -> None:
        self._result.faults.append(
            {
                "seed": self._share.seed,
                "number": number,
                "part": request.part,
                "fault": fault,
                "target": f"{request.method} {request.target[:200]}",
                "curl": request.to_curl(self._server.port),
                "request": base64.b64encode(request.to_bytes()).decode(),
                "answer": answer.body[:500].decode("utf-8", "replace") if answer else "",
            }
        )

    def _sample_memory(self, done: int) -> None:
        self._result.memory.append((done, measure_memory([self._server.process])))

    def _restore(self) -> None:
        """Give back what requests have taken from those who send them."""
        lost = []
        for who, role in PEOPLE.items():
            answer = self._connection.send(
                FuzzRequest.call("", who, "GET", f"/api/v1/courses/{RUN}")
            )
            is_same = answer is not None and answer.status == 200
            if is_same and answer is not None and role is not None:
                is_same = orjson.loads(answer.body)["role"] == role.value
            if not is_same and role is not None:
                lost.append(who)
        if not lost:
            return
        database = open_database(self._url)
        with database.read() as session:
            found = {who: find_person(session, login=who) for who in lost}
        restore_roles(database, {who: each for who, each in found.items() if each is not None})
        database.close()
        self._result.restored += len(lost)


def run_rubrics(seed: int, count: int, tell: Callable[[int], None]) -> FuzzResult:
    """Give mutated files to the loader."""
    result = FuzzResult()
    part = result.part("rubric files")
    # What is imported and built for the first file that is sound costs no other one.
    load_catalog(get_shipped_folder())
    for number in range(count):
        try:
            status, seconds = _load(seed, number)
            if seconds > MOST_CPU_SECONDS:
                # The garbage collector may have come just then, for what others had left.
                seconds = min(seconds, _load(seed, number)[1])
        except Exception as error:
            status, seconds = "defect", 0.0
            part.faults += 1
            result.faults.append(
                {"seed": seed, "number": number, "part": "rubric files", "fault": repr(error)[:500]}
            )
        part.add(number, status, seconds)
        tell(1)
    return result


def _load(seed: int, number: int) -> tuple[str, float]:
    return load_mutated(Mutator(random.Random(f"{seed} rubric {number}"), most_bytes=65_536))


def verify_store(url: str, folder: Path) -> bool:
    """Whether `grader verify` finds nothing wrong with a store."""
    environment = {"GRADER_DATABASE_URL": url, "GRADER_DATA_FOLDER": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "grader", "verify"],
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )
    (folder / "verify.log").write_bytes(done.stdout + done.stderr)
    return done.returncode == 0


def write_faults(path: Path, faults: Sequence[Mapping[str, Any]]) -> None:
    """Write what failed, a line each, to be replayed."""
    with path.open("w", encoding="utf-8") as file:
        for each in faults:
            file.write(json.dumps(each) + "\n")
