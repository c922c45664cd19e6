"""Fresh databases for tests, built by the migrations, on SQLite and on a real PostgreSQL.

The fixtures that give them are in `tests/conftest.py`. The functions here are for fixtures of a
wider scope, such as one database for all tests of a module::

    @pytest.fixture(scope="module")
    def database(tmp_path_factory):
        with fresh_url("postgresql", tmp_path_factory.mktemp("database")) as url:
            ...
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from sqlalchemy import URL, Engine, create_engine, event

from grader.store import database, migrations
from tests.support import postgresql

BACKENDS = ("sqlite", "postgresql")

#: What names the run of the tests that this process takes part in.
RUN = "GRADER_TEST_RUN"

_TEMPLATE = "keyset_template"


@contextmanager
def fresh_url(backend: str, folder: Path) -> Iterator[str]:
    """The URL of a new database with all tables; the folder is for a file of SQLite."""
    if backend == "sqlite":
        path = folder / f"{uuid.uuid4().hex}.sqlite3"
        path.write_bytes(_sqlite_template())
        path.chmod(0o600)
        yield f"sqlite:///{path}"
        return
    server = shared_server()
    with _new_database(server, _ensure_template(server)) as url:
        yield url


@contextmanager
def empty_url(backend: str, folder: Path) -> Iterator[str]:
    """The URL of a new database without tables."""
    if backend == "sqlite":
        yield f"sqlite:///{folder / uuid.uuid4().hex}.sqlite3"
        return
    with _new_database(shared_server(), "template0") as url:
        yield url


@cache
def _sqlite_template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "template.sqlite3")
        migrations.migrate_up(f"sqlite:///{path}")
        return path.read_bytes()


@contextmanager
def _new_database(server: Path, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    _administer(server, _copying(server), name, template)
    try:
        yield postgresql.address(server, name)
    finally:
        _administer(server, "DROP DATABASE {} WITH (FORCE)", name)


@cache
def _copying(server: Path) -> LiteralString:
    """The statement that makes a database from another by copying its files.

    Since version 15 PostgreSQL would write every page into its log instead, at twice the cost.
    """
    with psycopg.connect(postgresql.address(server, "postgres")) as connection:
        has_choice = connection.info.server_version >= 15_00_00
    statement: LiteralString = "CREATE DATABASE {} TEMPLATE {}"
    return statement + " STRATEGY file_copy" if has_choice else statement


@cache
def _ensure_template(server: Path) -> str:
    """Make the database that all others are copied from, once in a run."""
    with postgresql.locked(server / "template"):
        if not (server / "template-ready").exists():
            _administer(server, "DROP DATABASE IF EXISTS {}", _TEMPLATE)
            _administer(server, "CREATE DATABASE {} TEMPLATE template0", _TEMPLATE)
            migrations.migrate_up(postgresql.address(server, _TEMPLATE))
            (server / "template-ready").touch()
    return _TEMPLATE


def _administer(server: Path, statement: LiteralString, *names: str) -> None:
    with psycopg.connect(postgresql.address(server, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def share_compiled_statements() -> None:
    """Let all databases of a kind in this process share what SQLAlchemy compiled for them.

    It keeps statements by the dialect, and every engine has one of its own, so that otherwise each
    test compiles all its statements again, which is a third of the time of a test of the service.
    """
    first: dict[str, Engine] = {}

    def create_alike(url: URL, **options: Any) -> Engine:
        engine = create_engine(url, query_cache_size=2000, **options)
        kind = url.drivername
        if kind in first:
            engine.dialect = first[kind].dialect
            engine._compiled_cache = first[kind]._compiled_cache
        else:
            # A dialect is complete when it has seen a connection.
            event.listen(engine, "first_connect", lambda *_: first.setdefault(kind, engine))
        return engine

    database.create_engine = create_alike  # type: ignore[assignment, attr-defined]  # what it calls


def shared_server() -> Path:
    """The folder of the server that all processes of this run share; it starts when needed."""
    _take_ticket()
    return _server_folder()


@cache
def _take_ticket() -> int:
    # Whatever end this process comes to gives its ticket back.
    return postgresql.share(_server_folder())


def release() -> None:
    """Take part in the shared server no longer; the last one to say so ends it."""
    if _take_ticket.cache_info().currsize:
        os.close(_take_ticket())
        _take_ticket.cache_clear()
        _ensure_template.cache_clear()
        _copying.cache_clear()


def _server_folder() -> Path:
    run = os.environ.setdefault(RUN, uuid.uuid4().hex)
    return postgresql.temporary_base() / f"keyset-{run[:16]}"


def wait_until_cleared(timeout_seconds: float = 20) -> None:
    """Wait until the server of this run is gone, if there was one."""
    deadline = time.monotonic() + timeout_seconds
    while _server_folder().exists() and time.monotonic() < deadline:
        time.sleep(0.02)
