"""Uploads: their caps hold for all processes together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from grader.accounts.callers import Caller, Membership, get_membership
from grader.domain.roles import ALL_SCOPES
from grader.errors import KeysetError
from grader.grading.submissions import uploads
from grader.store.database import Database, Session
from grader.store.queries.submissions import UploadLine, count_uploads
from tests.support.world import World, make_service
from tests.support.writers import start_writers

PARALLEL = 16


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


def membership_of(world: World, login: str) -> Membership:
    person = world.people[login]
    with world.database.read() as session:
        return get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id="one")


def upload_all(world: World, contents: list[bytes]) -> Counter[str]:
    """How many of Ada's files were taken, and why others were not, through two processes."""
    ada = membership_of(world, "ada")
    barrier = threading.Barrier(len(contents))

    def send(number: int) -> str:
        def take(session: Session) -> UploadLine:
            return uploads.upload(
                session, ada, name="a.pdf", content=contents[number], at=world.clock()
            )

        barrier.wait()
        try:
            writers[number % len(writers)].run_now(take)
        except KeysetError as error:
            return error.code
        return "taken"

    with start_writers(world, 2) as writers, ThreadPoolExecutor(len(contents)) as pool:
        return Counter(pool.map(send, range(len(contents))))


def wait_between_counting_and_adding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two uploads both count before one of them adds, unless one waits for the other."""
    both = threading.Barrier(2)

    def count(session: Session, *, enrolment_id: str) -> tuple[int, int]:
        found = count_uploads(session, enrolment_id=enrolment_id)
        # Those that wait for each other never come here together, and the barrier stays broken.
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return found

    monkeypatch.setattr(uploads, "count_uploads", count)


def test_of_many_uploads_at_once_exactly_the_bytes_are_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = [b"%%PDF-1.7 %02d" % number for number in range(PARALLEL)]
    monkeypatch.setattr(uploads, "MAX_TOTAL_BYTES", 5 * len(contents[0]))
    wait_between_counting_and_adding(monkeypatch)

    assert upload_all(world, contents) == {"taken": 5, "file.too_many": PARALLEL - 5}
    with world.database.read() as session:
        found = count_uploads(session, enrolment_id=world.enrolment("ada"))
    assert found == (5, 5 * len(contents[0]))


def test_of_many_uploads_at_once_exactly_the_number_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = [b"%%PDF-1.7 %02d" % number for number in range(PARALLEL)]
    monkeypatch.setattr(uploads, "MAX_FILES", 3)
    wait_between_counting_and_adding(monkeypatch)

    assert upload_all(world, contents) == {"taken": 3, "file.too_many": PARALLEL - 3}
    assert upload_all(world, contents)["taken"] == 3, "the same files again are no new ones"


def test_one_file_sent_many_times_at_once_is_stored_once(world: World) -> None:
    assert upload_all(world, [b"%PDF-1.7 the same"] * PARALLEL) == {"taken": PARALLEL}
    with world.database.read() as session:
        files, _ = count_uploads(session, enrolment_id=world.enrolment("ada"))
    assert files == 1
