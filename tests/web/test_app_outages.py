"""When the database goes away or the disk is full: a declared 503, nothing lost, and back again."""

from __future__ import annotations

import sqlite3
import time

from sqlalchemy import event

from grader.store.database import Database, open_database
from grader.store.migrations import migrate_up
from tests.support.postgresql import address, own_server
from tests.support.world import EXPLORATION, World, make_service, question_path

AVERAGE = f"{EXPLORATION}/3b"
ONE = {"one": (EXPLORATION,), "two": ()}


def wait_for_readiness(world: World, status: int) -> None:
    """Wait until the service says whether it is ready; its answer may be a second old."""
    deadline = time.monotonic() + 20
    while world.get("/readyz").status_code != status:
        assert time.monotonic() < deadline, f"it never was {status}"
        time.sleep(0.05)


def assert_unavailable(world: World) -> None:
    """Both reading and submitting say so, and that trying again is safe."""
    for method, path, body in (
        ("GET", question_path(AVERAGE), None),
        ("POST", question_path(AVERAGE) + "/attempts", {"answer": {"q": "40 k_a"}}),
    ):
        response = world.call(method, path, "ada", body)
        assert response.status_code == 503, response.text
        assert response.json()["code"] == "service.unavailable"
        assert response.json()["attempt_used"] is False
        assert int(response.headers["Retry-After"]) >= 1


def test_a_database_that_goes_away_is_told_and_used_again_when_it_is_back() -> None:
    with own_server() as server:
        url = address(server.folder, "postgres")
        migrate_up(url)
        with make_service(open_database(url), published=ONE) as world:
            world.submit("ada", AVERAGE, {"q": "k_a"})
            server.stop()

            assert_unavailable(world)
            assert world.get("/healthz").status_code == 200
            wait_for_readiness(world, 503)

            server.start()
            wait_for_readiness(world, 200)
            world.submit("ada", AVERAGE, {"q": "k_a"}, status=200)
            assert world.submit("ada", AVERAGE, {"q": "40 k_a"})["number"] == 2


def limit_pages(database: Database, pages: int) -> None:
    """Let the file grow no further, as on a disk that is full; 0 takes it back."""

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages or 2**30}")

    event.listen(database.writing, "connect", limit)
    database.writing.dispose()


def test_on_a_full_disk_nothing_is_stored_reading_works_and_it_recovers(
    sqlite_database: Database,
) -> None:
    with make_service(sqlite_database, published=ONE) as world:
        world.submit("ada", AVERAGE, {"q": "k_a"})
        # SQLite takes what is there already for the limit.
        limit_pages(sqlite_database, 1)

        refused = 0
        for number in range(8):
            body = {"answer": {"q": f"{number + 2} k_a"}}
            response = world.post(question_path(AVERAGE) + "/attempts", "ada", body)
            assert response.status_code in (201, 503), response.text
            refused += response.status_code == 503

        assert refused, "the file never was full"
        kept = world.read(question_path(AVERAGE) + "/attempts", "ada")
        assert len(kept) == 1 + 8 - refused
        assert [each["number"] for each in kept] == list(range(1, len(kept) + 1))
        limit_pages(sqlite_database, 0)
        assert world.submit("ada", AVERAGE, {"q": "99 k_a"})["number"] == len(kept) + 1
