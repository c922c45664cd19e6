"""Whether a service is ready: its database can be read and written, its writer works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event, text

from grader.errors import Unavailable
from grader.store.database import Database
from grader.web.ops.health import Readiness
from tests.support.world import World, make_service


class Stopwatch:
    """A monotonic clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@contextmanager
def make_timed_service(database: Database) -> Iterator[tuple[World, Stopwatch]]:
    """A service for which time passes only where a test says so."""
    with make_service(database) as world:
        watch = Stopwatch()
        world.client.app.state.readiness = Readiness(world.service, watch)  # type: ignore[attr-defined]  # It is an app.
        yield world, watch


def test_a_service_whose_tables_are_behind_is_not_ready(database: Database) -> None:
    with make_timed_service(database) as (world, watch):
        assert world.get("/readyz").status_code == 200

        with database.write() as session:
            session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        watch.seconds += 1
        refused = world.get("/readyz")

        assert refused.status_code == 503
        assert "grader migrate" in refused.json()["detail"]


def test_a_service_whose_writer_has_ended_is_not_ready(sqlite_database: Database) -> None:
    with make_service(sqlite_database) as world:
        world.service.writer.stop()
        refused = world.get("/readyz")

        assert refused.status_code == 503
        assert "writer" in refused.json()["detail"]


def test_a_database_that_cannot_be_written_is_not_ready_and_the_reason_is_told(
    database: Database,
) -> None:
    with make_timed_service(database) as (world, watch):
        assert world.get("/readyz").status_code == 200
        with read_only(database):
            watch.seconds += 9
            assert world.get("/readyz").status_code == 200, "no write was due"
            watch.seconds += 1
            refused = world.get("/readyz")
            assert refused.status_code == 503
            assert "read-only" in refused.json()["detail"]

        watch.seconds += 1
        assert world.get("/readyz").status_code == 200


@contextmanager
def read_only(database: Database) -> Iterator[None]:
    """A database that accepts no change, as on a disk that the system has made read-only."""

    def refuse(connection: object, record: object, proxy: object) -> None:
        setting = "PRAGMA query_only = ON" if database.is_sqlite else "SET TRANSACTION READ ONLY"
        connection.cursor().execute(setting)  # type: ignore[attr-defined]

    event.listen(database.writing, "checkout", refuse)
    yield
    event.remove(database.writing, "checkout", refuse)
    database.writing.dispose()


def test_all_who_ask_within_a_second_get_one_answer(sqlite_database: Database) -> None:
    statements = list[str]()
    event.listen(
        sqlite_database.reading,
        "before_cursor_execute",
        lambda connection, cursor, statement, *rest: statements.append(statement),
    )

    async def ask(times: int) -> None:
        await asyncio.gather(*(readiness.check() for _ in range(times)))

    with make_service(sqlite_database) as world:
        watch = Stopwatch()
        readiness = Readiness(world.service, watch)
        statements.clear()
        asyncio.run(ask(1))
        once = len(statements)
        watch.seconds += 1
        asyncio.run(ask(50))
        asyncio.run(ask(50))

    assert len(statements) == 2 * once > 0


def test_who_leaves_does_not_take_the_answer_from_others(sqlite_database: Database) -> None:
    async def leave_and_stay() -> None:
        leaving = asyncio.create_task(readiness.check())
        staying = asyncio.create_task(readiness.check())
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(Unavailable, match="writer"):
            await staying

    with make_service(sqlite_database) as world:
        world.service.writer.stop()
        readiness = Readiness(world.service)
        asyncio.run(leave_and_stay())
