"""A real service whose secrets are sealed by a key in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.load.processes import RunningServer, run_service
from grader.accounts.courses import make_run
from grader.accounts.people import make_person
from grader.accounts.rosters import enrol
from grader.accounts.tokens import make_personal_token
from grader.cli.database import make_grading_context, read_clock
from grader.domain.roles import STUDENT_SCOPES, Role
from grader.grading.publishing.publish import publish
from grader.store.database import open_database
from grader.store.sealing import SealingKeys, find_key_id
from tests.support.audited_store import MODEL, TRANSFORMERS, small
from tests.support.people import RUN
from tests.support.sealing import (
    BOTH_KEYS,
    NEW,
    NEW_KEYS,
    OLD,
    OLD_KEYS,
    is_anywhere,
    list_stored_secrets,
    open_secrets,
    write_key_file,
)
from tests.support.service_commands import succeed, told


@pytest.fixture
def key_file(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key that servers and commands of a test have, for the database of the test."""
    path = write_key_file(tmp_path / "secret.key", OLD)
    monkeypatch.setenv("GRADER_SECRET_KEY_FILE", str(path))
    monkeypatch.setenv("GRADER_DATABASE_URL", database_url)
    monkeypatch.setenv("GRADER_DATA_FOLDER", str(tmp_path))
    return path


def begin_course(url: str, keys: SealingKeys) -> str:
    """A course run with two published questions, and the token of a student."""
    at = read_clock()
    assignment = small(TRANSFORMERS, ["c-i", "c-ii"], "{most: 9}")
    with (
        closing(open_database(url, sealing_keys=keys)) as database,
        database.write() as session,
    ):
        run = make_run(
            session, course_id="attention", run_id=RUN, title="Attention", time_zone="UTC", at=at,
            by="operator",
        )  # fmt: skip
        publish(
            session, make_grading_context(), run=run, assignment=assignment, opens_at=None,
            due_at=at + timedelta(days=7), note="", at=at, by="operator",
        )  # fmt: skip
        ada = make_person(
            session, login="ada", name="Ada", email=None, is_operator=False, at=at, by="operator"
        )
        enrol(session, run, ada, role=Role.STUDENT, at=at, by="operator")
        return make_personal_token(
            session, ada, label="curl", scopes=STUDENT_SCOPES, days=1, at=at, by="operator"
        ).secret


class Student:
    """A student's program that calls a service."""

    def __init__(self, server: RunningServer, token: str) -> None:
        self._address = f"{server.url}/api/v1"
        self._headers = {"Authorization": f"Bearer {token}"}

    def submit(self, answer: dict[str, Any]) -> Any:
        url = f"{self._address}/courses/{RUN}/assignments/{TRANSFORMERS}/questions/c-i/attempts"
        sent = httpx2.post(url, json={"answer": answer}, headers=self._headers)
        assert sent.status_code == 201, sent.text
        return sent.json()

    def get(self, path: str) -> Any:
        got = httpx2.get(f"{self._address}{path}", headers=self._headers)
        assert got.status_code == 200, got.text
        return got.json()


def replay(folder: Path, student: Student, attempt: Any) -> None:
    """Judge an attempt again from its bundle, with the public key that the service shows."""
    (public,) = [
        each["public"] for each in student.get("/keys") if each["id"] == attempt["receipt"]["key"]
    ]
    bundle = folder / f"{attempt['id']}.json"
    bundle.write_text(json.dumps(student.get(f"/attempts/{attempt['id']}/bundle")))
    succeed("replay", bundle, "--key", public)


def test_a_service_with_a_key_file_seals_and_goes_on_after_rotations(
    database_url: str, tmp_path: Path, key_file: Path
) -> None:
    token = begin_course(database_url, OLD_KEYS)
    with run_service(database_url, workers=1, folder=tmp_path) as server:
        first = Student(server, token).submit({"q": "mu_a"})
    with closing(open_database(database_url, sealing_keys=OLD_KEYS)) as database:
        secrets = open_secrets(database)
        assert [find_key_id(each) for each in list_stored_secrets(database)] == [*OLD_KEYS.ids] * 2
        assert not any(is_anywhere(database, each) for each in secrets)

    added = told("secrets", "new-signing-key")
    write_key_file(key_file, NEW, OLD)
    succeed("secrets", "rotate")
    write_key_file(key_file, NEW)
    with run_service(database_url, workers=1, folder=tmp_path) as server:
        student = Student(server, token)
        second = student.submit(MODEL)
        for attempt in (first, second):
            replay(tmp_path, student, attempt)

    assert first["receipt"]["key"] != second["receipt"]["key"] == added["id"]
    assert second["receipt"]["score"] > first["receipt"]["score"]
    assert told("verify", "--judge", "all")["fine"]
    with closing(open_database(database_url, sealing_keys=NEW_KEYS)) as database:
        assert open_secrets(database)[0] == secrets[0]


def test_workers_have_the_key_as_well(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_key_file(tmp_path / "secret.key", NEW, OLD)
    monkeypatch.setenv("GRADER_SECRET_KEY_FILE", str(path))
    token = begin_course(postgresql_url, BOTH_KEYS)

    with run_service(postgresql_url, workers=2, folder=tmp_path) as server:
        for number in range(6):
            Student(server, token).submit({"q": f"{number + 1} mu_a"})


@pytest.mark.parametrize("keys", [(NEW,), ()], ids=["another key", "no key"])
def test_a_service_with_the_wrong_key_does_not_start(
    database_url: str, tmp_path: Path, key_file: Path, keys: tuple[str, ...]
) -> None:
    begin_course(database_url, OLD_KEYS)
    environment = dict(os.environ)
    if keys:
        write_key_file(key_file, *keys)
    else:
        del environment["GRADER_SECRET_KEY_FILE"]

    started = subprocess.run(
        [sys.executable, "-m", "grader", "serve", "--port", "0"],
        env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert started.returncode == 2
    said = f"runs/{RUN}/secret is sealed by the key {OLD_KEYS.newest_id}, which was not given."
    assert started.stderr.startswith(said)
    assert "Listening" not in started.stdout
