"""Fixtures for everybody: databases. A test that takes `database` runs on both kinds."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader.store.database import Database, open_database
from tests.support.databases import (
    BACKENDS,
    RUN,
    empty_url,
    fresh_url,
    release,
    share_compiled_statements,
    wait_until_cleared,
)
from tests.support.passwords import hash_at_lowest_cost
from tests.support.postgresql import temporary_base


def pytest_configure(config: pytest.Config) -> None:
    """Name the run, so that its processes, which inherit the name, share one server."""
    share_compiled_statements()
    hash_at_lowest_cost()
    # SQLite waits for the disk at each commit, which costs nothing in memory.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(temporary_base()))
    if RUN not in os.environ:
        os.environ[RUN] = uuid.uuid4().hex
        config.add_cleanup(_end_run)


#: What takes longest for each of its tests.
_LONG = ("docs/test_service_pages.py", "browser/test_accessible.py", "docs/test_pages.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no worker is left alone with one of them at the end."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(_LONG))


def pytest_collection_finish() -> None:
    """Keep the collector from looking again and again at what stays to the end anyway."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _end_run() -> None:
    release()
    wait_until_cleared()
    del os.environ[RUN]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database, one after the other."""
    return str(request.param)


@pytest.fixture
def blank_url(backend: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables, of both kinds."""
    with empty_url(backend, tmp_path) as url:
        yield url


@pytest.fixture
def database_url(backend: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh migrated database of both kinds, for a process to open."""
    with fresh_url(backend, tmp_path) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh migrated database on SQLite."""
    with fresh_url("sqlite", tmp_path) as url:
        yield url


@pytest.fixture
def postgresql_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh migrated database on PostgreSQL."""
    with fresh_url("postgresql", tmp_path) as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database of both kinds, open."""
    with closing(open_database(database_url)) as opened:
        yield opened


@pytest.fixture
def sqlite_database(sqlite_url: str) -> Iterator[Database]:
    """A fresh migrated database on SQLite, open."""
    with closing(open_database(sqlite_url)) as opened:
        yield opened


@pytest.fixture
def postgresql_database(postgresql_url: str) -> Iterator[Database]:
    """A fresh migrated database on PostgreSQL, open."""
    with closing(open_database(postgresql_url)) as opened:
        yield opened
