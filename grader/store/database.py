"""Opening a database: SQLite for one process, PostgreSQL for many, behind one interface."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session, SessionTransaction
from sqlalchemy.pool import ConnectionPoolEntry

from grader.errors import OperatorError, Unavailable
from grader.store.sealing import NO_SEALING_KEYS, SESSION_INFO, SealingKeys

__all__ = ["Database", "Session", "open_database"]

_BUSY_SECONDS = 10
_UNREACHABLE = (
    "The database cannot be reached just now; nothing was changed. Try again in a moment."
)
_UNKNOWN = (
    "The database was lost while it stored this. It is not known whether it was done; send it "
    "again with the same Idempotency-Key, and it counts once."
)
_FULL = "The disk of the database is full; nothing was changed. The operator must make room."
_DAMAGED = "The database file is damaged; nothing was changed. The operator must restore it."
_READ_ONLY = "The database is read-only; nothing was changed. The operator must make it writable."
# PostgreSQL's own names for these, by SQLSTATE.
_POSTGRESQL_REFUSALS = {"53100": _FULL, "25006": _READ_ONLY}


@dataclass(frozen=True, slots=True)
class Database:
    """A database with separate read and write sessions, and the keys that seal its secrets."""

    url: URL
    reading: Engine
    writing: Engine
    sealing_keys: SealingKeys = NO_SEALING_KEYS

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a SQLite file, with one writer at a time."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only session, which sees one consistent state."""
        with _translate_errors(), self._open_session(self.reading) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in its own transaction: committed at the end, rolled back on an error."""
        with (
            _translate_errors(),
            self._open_session(self.writing) as session,
            session.begin() as transaction,
        ):
            yield session
            _commit(transaction)

    def _open_session(self, engine: Engine) -> Session:
        return Session(engine, autoflush=False, info={SESSION_INFO: self.sealing_keys})

    def close(self) -> None:
        """Close all connections."""
        self.reading.dispose()
        self.writing.dispose()


def _commit(transaction: SessionTransaction) -> None:
    try:
        transaction.commit()
    except DBAPIError as error:
        if error.connection_invalidated:
            # It may have been lost before or after the database had committed.
            raise Unavailable(_UNKNOWN) from error
        raise


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        if _is_sql_error(error):
            raise
        raise Unavailable(_describe_error(error)) from error
    except DBAPIError as error:
        said = _describe_error(error)
        if error.connection_invalidated or said != _UNREACHABLE:
            raise Unavailable(said) from error
        raise


def _is_sql_error(error: Exception) -> bool:
    """Whether the SQL itself is wrong, which SQLite reports like a database that is away."""
    return _sqlite_code(error) == sqlite3.SQLITE_ERROR


def _describe_error(error: Exception) -> str:
    """What to tell the caller: waiting does not help where the operator must act."""
    # A more detailed code has the plain one in its last eight bits.
    match (_sqlite_code(error) or 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _FULL
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return _DAMAGED
        case sqlite3.SQLITE_READONLY:
            return _READ_ONLY
        case _:
            return _POSTGRESQL_REFUSALS.get(_postgresql_code(error) or "", _UNREACHABLE)


def _sqlite_code(error: Exception) -> int | None:
    return getattr(getattr(error, "orig", error), "sqlite_errorcode", None)


def _postgresql_code(error: Exception) -> str | None:
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def open_database(
    url: str, *, read_only: bool = False, sealing_keys: SealingKeys = NO_SEALING_KEYS
) -> Database:
    """Open a database by its address.

    With `read_only` nothing of it is changed, and a SQLite file may be on a read-only disk. The
    secrets in it are sealed and opened by `sealing_keys`; `check_secrets_open` tells whether they
    are the right ones.

    Raises
    ------
    OperatorError
        Where the address cannot be understood, or the file cannot be opened.
    """
    try:
        address = make_url(url)
    except (ValueError, ArgumentError):
        raise OperatorError(
            "The address of the database cannot be understood. It is sqlite:///FILE "
            "or postgresql://USER:PASSWORD@HOST/NAME."
        ) from None
    return replace(_open(address, read_only=read_only), sealing_keys=sealing_keys)


def _open(address: URL, *, read_only: bool) -> Database:
    match address.get_backend_name():
        case "sqlite":
            return _open_sqlite_to_read(address) if read_only else _open_sqlite(address)
        case "postgresql":
            return _open_postgresql(address.set(drivername="postgresql+psycopg"))
        case other:
            raise OperatorError(f"Keyset works on sqlite and on postgresql, not on {other}.")


def _open_sqlite(url: URL) -> Database:
    if not url.database or url.database == ":memory:":
        raise OperatorError("Name a file for SQLite; what is in memory would be lost.")
    _make_private(Path(url.database))
    # A write begins as one, so that two writers wait for each other instead of failing half-way.
    writing = _make_sqlite_engine(url, begin=_begin_writing, pool_size=2)
    reading = _make_sqlite_engine(url, begin=_begin_reading, pool_size=8)
    event.listen(writing, "connect", _prepare_for_batches)
    event.listen(reading, "connect", _forbid_writing)
    return Database(url, reading, writing)


def _open_sqlite_to_read(url: URL) -> Database:
    path = Path(url.database or "")
    _connect_to_read(path).close()
    reading = create_engine(
        url, pool_size=8, max_overflow=8, creator=lambda: _connect_to_read(path)
    )
    event.listen(reading, "begin", _begin_reading)
    event.listen(reading, "connect", _forbid_writing)
    return Database(url, reading, reading)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, also where nothing could be written."""
    try:
        return _connect_by_uri(path, "mode=ro")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in _NOT_WRITABLE:
            raise Unavailable(_describe_error(error)) from error
    # In a folder that cannot be written SQLite cannot make the index of its log.
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise OperatorError(
            f"{log} has changes that cannot be read where its folder cannot be written. Copy the "
            "database with this file to another folder, and look at it there."
        )
    try:
        return _connect_by_uri(path, "mode=ro&immutable=1")
    except sqlite3.DatabaseError as error:
        raise OperatorError(f"{path} cannot be opened: {error}.") from None


_NOT_WRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def _connect_by_uri(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{options}", uri=True, check_same_thread=False
    )
    # Python must not begin transactions by itself: the engine does.
    connection.isolation_level = None
    try:
        connection.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        # Opening the file reads nothing of it yet.
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _make_sqlite_engine(url: URL, *, begin: Callable[[Connection], None], pool_size: int) -> Engine:
    engine = create_engine(
        url, pool_size=pool_size, max_overflow=8, connect_args={"check_same_thread": False}
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", begin)
    return engine


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_reading(connection: Connection) -> None:
    # It takes no lock yet, so that it has no error for SQLAlchemy to translate, which takes ten
    # times as long.
    connection.connection.cursor().execute("BEGIN")


def _configure_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # Python must not begin transactions by itself: the engine does.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")
    _switch_to_wal(connection)
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {pragma}")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not wait here by itself where several processes open a new file at once.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _prepare_for_batches(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # By default SQLite keeps 2 MB of pages in memory, and a batch touches half as much.
    connection.execute("PRAGMA cache_size = -32768")
    # A batch adds a few hundred pages to the log, many of them the same; by default they would be
    # copied into the database after every fourth one.
    connection.execute("PRAGMA wal_autocheckpoint = 8000")


def _forbid_writing(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA query_only = ON")


def _make_private(path: Path) -> None:
    """Let only the owner read the file, which holds the secrets of course runs."""
    if path.exists() and not path.is_file():
        raise OperatorError(
            f"{path} is no file. Name one for the database, such as {path / 'keyset.sqlite'}."
        )
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, mode=0o700)
        path.touch(mode=0o600)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise OperatorError(f"{path} cannot be opened: {error.strerror}.") from None


def _open_postgresql(url: URL) -> Database:
    # By default PostgreSQL thinks of disks with an arm, and reads whole tables of thousands of
    # students rather than look up the few of a batch.
    usual = {"random_page_cost": "1.1"}
    # A batch looks up its own rows only. While a table is small a join by hash is cheaper, but the
    # plan of a prepared statement is kept, and reads the whole table when that has grown.
    writing = _make_postgresql_engine(
        url, usual | {"enable_hashjoin": "off", "enable_mergejoin": "off"}, pool_size=4
    )
    # By default every statement of a transaction would see a newer state.
    reading = _make_postgresql_engine(url, usual, pool_size=8).execution_options(
        isolation_level="REPEATABLE READ", postgresql_readonly=True
    )
    return Database(url, reading, writing)


def _make_postgresql_engine(url: URL, settings: Mapping[str, str], *, pool_size: int) -> Engine:
    limits = {"lock_timeout": "10s", "statement_timeout": "60s", "timezone": "UTC"}
    options = " ".join(f"-c {name}={value}" for name, value in {**limits, **settings}.items())
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=5,
        pool_pre_ping=True,
        connect_args={
            "options": options,
            "connect_timeout": 5,
            # How long a server may be gone before that is noticed.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
        },
    )


def rewrite_file(database: Database) -> None:
    """Rewrite a SQLite file without the bytes of what was deleted or replaced.

    Writers wait meanwhile. PostgreSQL removes such bytes by itself.

    Raises
    ------
    OperatorError
        If the file cannot be rewritten; then it stays as it is.
    """
    if not database.is_sqlite:
        return
    # Outside of a transaction, which the engine would begin.
    connection: Any = database.writing.raw_connection()
    try:
        connection.execute("VACUUM")
        # The log has the pages of before until it is used again.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise OperatorError(f"The file cannot be rewritten: {error}.") from error
    finally:
        connection.close()


def lock(session: Session, names: list[str]) -> None:
    """Hold these names until the end of the transaction; wait while another one holds any of them.

    On SQLite every write transaction already waits for all others.
    """
    _lock(session, "pg_advisory_xact_lock", names)


def lock_shared(session: Session, names: list[str]) -> None:
    """The same, but any number of transactions may hold a name in this way."""
    _lock(session, "pg_advisory_xact_lock_shared", names)


def _lock(session: Session, function: str, names: list[str]) -> None:
    # A session begins with its first statement only, and on SQLite to begin is to lock.
    if session.connection().dialect.name != "postgresql":
        return
    # In one order everywhere, so that two transactions never wait for each other.
    statement = text(
        f"SELECT {function}(hashtextextended(name, 0)) FROM unnest(CAST(:names AS text[])) AS name"
    )
    session.execute(statement, {"names": sorted(set(names))})
