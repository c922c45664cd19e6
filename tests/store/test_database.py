import os
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from grader.errors import OperatorError, Unavailable
from grader.store.database import Database, lock, open_database, rewrite_file
from grader.store.migrations import migrate_up
from grader.store.types import Hundredths, JsonText, UtcDateTime
from tests.support.postgresql import Server, address, own_server

ADD_COURSE = text("INSERT INTO courses VALUES (:id, 'A title', '2026-11-16 12:00:00')")
COURSES = text("SELECT id FROM courses ORDER BY id")


def courses(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(COURSES))


def add_course(database: Database, name: str) -> None:
    with database.write() as session:
        session.execute(ADD_COURSE, {"id": name})


# What is kept.


def test_what_is_written_can_be_read(database: Database) -> None:
    add_course(database, "attention")

    assert courses(database) == ["attention"]


def test_an_error_undoes_the_whole_transaction(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as session:  # noqa: PT012  # both at once
        session.execute(ADD_COURSE, {"id": "attention"})
        session.execute(ADD_COURSE, {"id": "attention"})

    assert courses(database) == []


def test_what_refers_to_nothing_is_refused(database: Database) -> None:
    statement = text("INSERT INTO publication_parts VALUES ('none', 'c-i', 1, 'none')")

    with pytest.raises(IntegrityError), database.write() as session:
        session.execute(statement)


def test_a_session_that_reads_cannot_write(database: Database) -> None:
    with pytest.raises((DBAPIError, Unavailable)), database.read() as session:
        session.execute(ADD_COURSE, {"id": "attention"})

    assert courses(database) == []
    add_course(database, "attention")
    assert courses(database) == ["attention"]


def test_a_session_that_reads_sees_one_state_of_things(database: Database) -> None:
    with database.read() as session:
        assert list(session.scalars(COURSES)) == []
        add_course(database, "attention")
        assert list(session.scalars(COURSES)) == []

    assert courses(database) == ["attention"]


def test_a_mistake_in_a_query_is_not_an_absent_database(database: Database) -> None:
    with pytest.raises(DBAPIError), database.read() as session:
        session.execute(text("SELECT nonsense FROM courses"))


# Who must act.


def test_a_full_disk_is_told_as_such(sqlite_database: Database) -> None:
    full = pytest.raises(Unavailable, match="disk of the database is full")
    with full, sqlite_database.write() as session:
        session.execute(text("PRAGMA max_page_count = 1"))
        session.execute(ADD_COURSE, {"id": "a" * 2**20})


def test_a_damaged_file_is_told_as_such(sqlite_database: Database) -> None:
    path = Path(sqlite_database.url.database or "")
    sqlite_database.close()
    path.write_bytes(b"no database at all" * 1000)

    with pytest.raises(Unavailable, match="damaged"):
        courses(sqlite_database)


# Files.


def test_sqlite_is_set_up_to_lose_nothing(sqlite_database: Database) -> None:
    for engine in (sqlite_database.reading, sqlite_database.writing):
        with engine.connect() as connection:
            pragmas = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
            }
        # Two is FULL.
        assert pragmas == {
            "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0,
        }  # fmt: skip


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_mask() -> Iterator[None]:
    """A machine where what is made is for everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_mask")
def test_the_file_and_its_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "keyset.sqlite3"
    migrate_up(f"sqlite:///{path}")

    with closing(open_database(f"sqlite:///{path}")) as database:
        add_course(database, "attention")
        files = {file.name: oct(mode(file)) for file in path.parent.iterdir()}

    assert oct(mode(path.parent)) == "0o700"
    assert files == dict.fromkeys((path.name, f"{path.name}-wal", f"{path.name}-shm"), "0o600")


def test_a_file_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "keyset.sqlite3"
    path.touch()
    path.chmod(0o644)

    open_database(f"sqlite:///{path}").close()

    assert oct(mode(path)) == "0o600"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        pytest.param("nonsense", "cannot be understood", id="no address"),
        pytest.param("postgresql://host:port/name", "cannot be understood", id="no number"),
        pytest.param("mysql://host/name", "not on mysql", id="another database"),
        pytest.param("oracle+magic://host/name", "not on oracle", id="another driver"),
        pytest.param("sqlite://", "Name a file", id="memory"),
        pytest.param("sqlite:///:memory:", "Name a file", id="memory by name"),
        pytest.param("sqlite:////dev/null/keyset.sqlite3", "cannot be opened", id="no folder"),
    ],
)
def test_an_address_that_will_not_do_is_refused(url: str, said: str) -> None:
    with pytest.raises(OperatorError, match=said):
        open_database(url)


# A database that goes away.


@pytest.fixture
def own() -> Iterator[tuple[Server, Database]]:
    with own_server() as server:
        url = address(server.folder, "postgres")
        migrate_up(url)
        with closing(open_database(url)) as database:
            yield server, database


def test_an_absent_postgresql_is_told_and_used_again_when_it_is_back(
    own: tuple[Server, Database],
) -> None:
    server, database = own
    add_course(database, "before")

    with pytest.raises(Unavailable), database.write() as session:  # noqa: PT012  # in the middle
        session.execute(ADD_COURSE, {"id": "interrupted"})
        server.stop()
        session.execute(ADD_COURSE, {"id": "never"})
    with pytest.raises(Unavailable):
        courses(database)
    with pytest.raises(Unavailable):
        add_course(database, "meanwhile")

    server.start()
    add_course(database, "behind")
    assert courses(database) == ["before", "behind"]


def test_a_connection_that_died_unnoticed_is_replaced(own: tuple[Server, Database]) -> None:
    server, database = own
    assert courses(database) == []
    server.stop()
    server.start()

    assert courses(database) == []


# Locks.


@contextmanager
def holding(database: Database, names: list[str]) -> Iterator[None]:
    """Hold names in another thread."""
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with database.write() as session:
            lock(session, names)
            held.set()
            assert leave.wait(20)

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(hold)
        try:
            assert held.wait(20)
            yield
        finally:
            leave.set()
            holder.result()


def test_of_a_connection_that_is_lost_while_it_commits_nothing_is_claimed(
    postgresql_database: Database,
) -> None:
    with postgresql_database.write() as session:
        # It runs at the very end of the transaction that has fired it.
        session.execute(
            text(
                "CREATE FUNCTION end_own_connection() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$"
            )
        )
        session.execute(
            text(
                "CREATE CONSTRAINT TRIGGER lost AFTER INSERT ON courses DEFERRABLE INITIALLY"
                " DEFERRED FOR EACH ROW EXECUTE FUNCTION end_own_connection()"
            )
        )

    with pytest.raises(Unavailable) as lost:
        add_course(postgresql_database, "lost")

    assert "It is not known whether it was done" in str(lost.value)
    with postgresql_database.write() as session:
        session.execute(text("DROP TRIGGER lost ON courses"))


def test_of_two_that_lock_one_name_one_waits(database: Database) -> None:
    entered = threading.Event()

    def enter() -> None:
        with database.write() as session:
            lock(session, ["beta", "gamma"])
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with holding(database, ["alpha", "beta"]):
            waiting = pool.submit(enter)
            assert not entered.wait(0.2)
        waiting.result(20)
    assert entered.is_set()


def test_who_locks_another_name_does_not_wait(postgresql_database: Database) -> None:
    with holding(postgresql_database, ["alpha"]), postgresql_database.write() as session:
        began = time.monotonic()
        lock(session, ["gamma"])
        assert time.monotonic() - began < 5


def test_names_in_any_order_never_wait_for_each_other(database: Database) -> None:
    def enter(names: list[str]) -> None:
        for _ in range(20):
            with database.write() as session:
                lock(session, names)

    names = [f"name {number}" for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(enter, each) for each in (names, names[::-1]) * 2]:
            done.result(60)


# Types.


PROBE = Table(
    "probe",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("points", Hundredths),
    Column("at", UtcDateTime),
    Column("data", JsonText),
)


@pytest.fixture
def probe(database: Database) -> Database:
    PROBE.create(database.writing)
    return database


def round_trip(database: Database, column: str, value: Any) -> Any:
    with database.write() as session:
        session.execute(PROBE.delete())
        session.execute(PROBE.insert(), {"id": 1, column: value})
    with database.read() as session:
        return session.execute(select(PROBE.c[column])).scalar_one()


@pytest.mark.parametrize("points", ["0", "10", "7.5", "0.01", "-2.25", "10000.99", "100", "1000"])
def test_points_come_back_exactly(probe: Database, points: str) -> None:
    back = round_trip(probe, "points", Decimal(points))

    assert isinstance(back, Decimal)
    assert str(back) == points


def test_points_are_summed_exactly_by_the_database(probe: Database) -> None:
    with probe.write() as session:
        session.execute(
            PROBE.insert(), [{"id": each, "points": Decimal("0.1")} for each in range(10)]
        )
    with probe.read() as session:
        assert session.execute(select(func.sum(PROBE.c.points))).scalar_one() == Decimal(1)


@pytest.mark.parametrize("points", ["0.001", "7.125", "NaN", "Infinity"])
def test_points_that_are_no_hundredths_are_refused(probe: Database, points: str) -> None:
    with pytest.raises((StatementError, ValueError)):
        round_trip(probe, "points", Decimal(points))


def test_a_time_comes_back_as_the_same_moment_in_utc(probe: Database) -> None:
    there = datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5.5)))

    back = round_trip(probe, "at", there)

    assert back == there
    assert back.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(probe: Database) -> None:
    with pytest.raises((StatementError, ValueError), match="zone"):
        round_trip(probe, "at", datetime(2026, 1, 1))  # noqa: DTZ001  # which is what is refused


def test_nothing_comes_back_as_nothing(probe: Database) -> None:
    for column in ("points", "at", "data"):
        assert round_trip(probe, column, None) is None


def test_documents_come_back_with_every_bit(probe: Database) -> None:
    numbers = [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, 2.0**-1074, 1e22, 123456789.1]
    document = {"numbers": numbers, "text": 'α\u2028\U0001f600 "quoted"', "nested": [[], {}, None]}

    back = round_trip(probe, "data", document)

    assert back == document
    assert [each.hex() for each in back["numbers"]] == [each.hex() for each in numbers]


def test_a_folder_is_no_database_and_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with pytest.raises(OperatorError, match="is no file"):
        open_database(f"sqlite:///{tmp_path}")

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_file_is_rewritten_without_the_bytes_of_before(sqlite_database: Database) -> None:
    file = Path(sqlite_database.url.database or "")
    for number in range(200):
        add_course(sqlite_database, f"attention-{number}")
    with sqlite_database.write() as session:
        # Some systems build SQLite so that it overwrites what is deleted; others do not.
        session.execute(text("PRAGMA secure_delete = OFF"))
        session.execute(text("DELETE FROM courses WHERE id <> 'attention-7'"))

    rewrite_file(sqlite_database)

    left = b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*"))
    assert b"attention-150" not in left
    assert courses(sqlite_database) == ["attention-7"]


def test_a_file_that_others_write_to_is_not_rewritten(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.store.database._BUSY_SECONDS", 0)
    with closing(open_database(sqlite_url)) as database, database.write() as session:
        session.execute(COURSES)

        with pytest.raises(OperatorError, match="cannot be rewritten: database is locked"):
            rewrite_file(database)
