"""Nothing that was acknowledged is lost: real processes, killed in the middle of their work.

With KEYSET_KILLS=100 it is done a hundred times.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from grader.accounts.courses import make_run
from grader.accounts.tokens import make_personal_token
from grader.cli.server import open_grading_context
from grader.domain.roles import STUDENT_SCOPES, Role
from grader.grading.publishing.publish import publish
from grader.store.database import Database, open_database
from grader.store.queries.courses import EnrolmentLine, add_enrolments
from grader.store.queries.people import add_person
from grader.store.rows import make_id
from tests.support.command_line import Ended, run
from tests.support.rubrics import shipped
from tests.support.world import make_service

CYCLES = int(os.environ.get("KEYSET_KILLS", "2"))
STUDENTS = 8
PATH = "/api/v1/courses/one/assignments/attention-exploration/questions/3b/attempts"


def fill(url: str) -> list[str]:
    """A course run with students; returns their tokens."""
    database, now = open_database(url), datetime.now(UTC)
    context = open_grading_context(database)
    tokens = []
    with database.write() as session:
        run = make_run(
            session, course_id="one", run_id="one", title="One", time_zone="UTC", at=now, by="test"
        )
        publish(
            session, context, run=run, assignment=shipped().assignments["attention-exploration"],
            opens_at=None, due_at=now + timedelta(days=1), note="", at=now, by="test",
        )  # fmt: skip
        for number in range(STUDENTS):
            person = add_person(session, login=f"s{number}", name="S", email=None, at=now)
            line = EnrolmentLine(make_id("enr"), run.id, person.id, Role.STUDENT, "")
            add_enrolments(session, [line], at=now)
            token = make_personal_token(
                session, person, label="t", scopes=STUDENT_SCOPES, days=1, at=now, by="test"
            )
            tokens.append(token.secret)
    database.close()
    return tokens


@contextmanager
def serving(url: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A real `grader serve`, with its address."""
    environment = os.environ | {
        "GRADER_DATABASE_URL": url,
        "GRADER_DATA_FOLDER": str(folder),
        "GRADER_SUBMITS_PER_MINUTE": "100000",
        "GRADER_LOG_LEVEL": "error",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "serve", "--port", "0"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            if line.startswith("Listening on "):
                address = line.split()[2]
                break
        assert address, "the service did not start"
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


@dataclass
class Clients:
    """Students who send answers until the service is gone, and keep what was acknowledged."""

    address: str
    tokens: list[str]
    cycle: int
    acknowledged: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self.threads = [
            threading.Thread(target=self._send_all, args=(token,)) for token in self.tokens
        ]
        for thread in self.threads:
            thread.start()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(60)

    def _send_all(self, token: str) -> None:
        with httpx2.Client(base_url=self.address, timeout=30) as client:
            for number in range(1000):
                body = {"answer": {"q": f"{self.cycle * 1000 + number + 1} k_a"}}
                headers = {"Authorization": f"Bearer {token}"}
                try:
                    response = client.post(PATH, json=body, headers=headers)
                except httpx2.HTTPError:
                    return
                if response.status_code == 201:
                    self.acknowledged.append(response.text)
                elif response.status_code == 409:
                    return
                else:
                    self.unexpected.append(response.text)
                    return


def verify(url: str, acknowledged: list[str], folder: Path) -> Ended:
    file = folder / "acknowledged.jsonl"
    file.write_text("".join(f"{line}\n" for line in acknowledged), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_DATABASE_URL", url)
        return run("verify", "--acknowledged", file, "--json")


def test_what_was_acknowledged_is_there_after_kill_9(database_url: str, tmp_path: Path) -> None:
    tokens = fill(database_url)
    acknowledged: list[str] = []
    for cycle in range(CYCLES):
        with serving(database_url, tmp_path) as (process, address):
            clients = Clients(address, tokens, cycle)
            clients.start()
            deadline = time.monotonic() + 20
            while len(clients.acknowledged) < 12 and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.wait(30)
            clients.join()
        acknowledged += clients.acknowledged
        assert clients.unexpected == []
        assert len(clients.acknowledged) >= 12

    checked = verify(database_url, acknowledged, tmp_path)

    assert checked.exit_code == 0, checked.stdout + checked.stderr


def test_verify_notices_an_acknowledgement_that_is_not_there(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    with make_service(database) as world:
        response = world.post(PATH, "ada", {"answer": {"q": "k_a"}})
    assert response.status_code == 201
    forged = response.json()
    forged["id"] = forged["receipt"]["attempt"] = "att_00000000000000000000000000"

    assert verify(database_url, [response.text], tmp_path).exit_code == 0
    assert verify(database_url, [response.text, json.dumps(forged)], tmp_path).exit_code == 1


def test_a_term_signal_lets_everybody_finish(sqlite_url: str, tmp_path: Path) -> None:
    tokens = fill(sqlite_url)
    with serving(sqlite_url, tmp_path) as (process, address):
        clients = Clients(address, tokens, 0)
        clients.start()
        while len(clients.acknowledged) < 8:
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0 or process.returncode == -signal.SIGTERM
        clients.join()

    assert clients.unexpected == []
    assert verify(sqlite_url, clients.acknowledged, tmp_path).exit_code == 0
