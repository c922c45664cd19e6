"""Links and tokens of the demo."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader.accounts.callers import check_token
from grader.accounts.sign_in import sign_in_by_link
from grader.cli import demo_course
from grader.cli.demo_course import filling_demo, prepare_demo
from grader.cli.server import open_service
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES
from grader.settings import Settings
from grader.store.queries.fills import FillLine, find_fill
from grader.web.app import make_app
from grader.web.service import Service
from tests.docs.service_pages import read_exports


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Service, Settings]]:
    settings = Settings(data_folder=folder, database_url="", port=8000, log_format="json")
    service = open_service(settings)
    try:
        yield service, settings
    finally:
        service.database.close()


@pytest.fixture
def started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Service, Path, str]]:
    """A service with a demo without students, its file of exports, and what it printed."""
    with opened(tmp_path / "data") as (service, settings):
        prepare_demo(service, settings, students=0)
        yield service, settings.data_folder / "demo.env", capsys.readouterr().out


def test_the_exports_are_printed_and_written_for_their_owner_alone(
    started: tuple[Service, Path, str],
) -> None:
    _, file, printed = started

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_exports(file)["KEYSET"] == "http://localhost:8000"
    assert all(line in printed for line in file.read_text().splitlines())
    assert f"or: . {file}\n" in printed


def test_the_tokens_let_a_student_answer_and_an_instructor_do_everything(
    started: tuple[Service, Path, str],
) -> None:
    service, file, _ = started
    exports = read_exports(file)

    with service.database.read() as session:
        ada = check_token(session, exports["KEYSET_STUDENT"], at=service.clock())
        grace = check_token(session, exports["KEYSET_INSTRUCTOR"], at=service.clock())
    assert ada.person is not None
    assert grace.person is not None
    assert (ada.person.login, ada.scopes) == ("ada", STUDENT_SCOPES)
    assert (grace.person.login, grace.scopes) == ("grace", ALL_SCOPES)


def test_the_links_sign_in_who_they_say(started: tuple[Service, Path, str]) -> None:
    service, _, printed = started

    signed_in = {}
    for line in printed.splitlines():
        if "/sign-in/" in line:
            login, role, link = line.split()
            with service.database.write() as session:
                found = sign_in_by_link(session, link.rpartition("/")[2], at=service.clock())
            signed_in[login, role] = found.person.login
    assert signed_in == {
        ("grace", "instructor"): "grace",
        ("alan", "assistant"): "alan",
        ("ada", "student"): "ada",
    }


def test_a_second_start_adds_nothing_and_makes_new_ways_in(
    started: tuple[Service, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, file, _ = started
    before = read_exports(file)
    prepare_demo(service, Settings(data_folder=file.parent), students=0)
    after = read_exports(file)

    assert "Adding" not in capsys.readouterr().out
    assert before["KEYSET_STUDENT"] != after["KEYSET_STUDENT"]
    with service.database.read() as session:
        for exports in (before, after):
            check_token(session, exports["KEYSET_STUDENT"], at=service.clock())


def wait_until_filled(service: Service) -> None:
    while find_progress(service) is not None:
        time.sleep(0.05)


def find_progress(service: Service) -> FillLine | None:
    with service.database.read() as session:
        return find_fill(session, run_id="demo")


def test_the_service_answers_while_the_course_is_filled(
    started: tuple[Service, Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    service, _, _ = started
    assert find_progress(service) is not None

    with TestClient(make_app(service, alongside=filling_demo(service))) as client:
        assert client.get("/readyz").status_code == 200
        wait_until_filled(service)

    assert "The demo course is complete.\n" in capsys.readouterr().out


def test_a_service_that_ends_meanwhile_goes_on_at_its_next_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(tmp_path) as (service, settings):
        prepare_demo(service, settings, students=3)
        with TestClient(make_app(service, alongside=filling_demo(service))):
            pass
        left = find_progress(service)
    assert left is not None
    assert left.done < left.of
    assert "The demo course is not complete." in capsys.readouterr().out

    with opened(tmp_path) as (service, settings):
        prepare_demo(service, settings)
        with TestClient(make_app(service, alongside=filling_demo(service))):
            wait_until_filled(service)
    assert "The demo course is complete.\n" in capsys.readouterr().out


def test_an_error_ends_the_filling_and_not_the_service(
    started: tuple[Service, Path, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service, _, _ = started

    def fail(*_: object, **__: object) -> bool:
        raise RuntimeError("a defect")

    monkeypatch.setattr(demo_course, "fill_demo", fail)
    with TestClient(make_app(service, alongside=filling_demo(service))) as client:
        assert client.get("/readyz").status_code == 200

    printed = capsys.readouterr()
    assert "could not be filled. The next start tries again.\n" in printed.out
    assert "demo_not_filled" in printed.err
    assert find_progress(service) is not None


def test_a_folder_that_cannot_be_written_to_is_no_reason_not_to_start(
    started: tuple[Service, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _, _ = started
    (tmp_path / "file").write_text("in the way")
    prepare_demo(service, Settings(data_folder=tmp_path / "file"), students=0)
    printed = capsys.readouterr().out

    assert "export KEYSET_STUDENT=keyset_" in printed
    assert "or: ." not in printed
