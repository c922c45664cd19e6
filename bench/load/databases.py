"""Databases for a run, as durable as in production, each filled with a course."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg

from grader.store.database import Database, open_database
from grader.store.migrations import migrate_up
from tests.support import postgresql

KINDS = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class LoadDatabase:
    """Two empty databases: the service's, with its tables, and the barest endpoint's."""

    folder: Path
    url: str
    barest_url: str
    server: postgresql.Server | None
    """The server of the database, where it has one."""

    def open(self) -> Database:
        """The service's database, for filling it."""
        return open_database(self.url)

    def update_statistics(self) -> None:
        """Let PostgreSQL look at its tables, as it does by itself within a minute."""
        if self.server is not None:
            for url in (self.url, self.barest_url):
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute("ANALYZE")

    def list_processes(self) -> list[psutil.Process]:
        """The processes of the database's server."""
        if self.server is None:
            return []
        first = psutil.Process(self.server.pid)
        return [first, *first.children(recursive=True)]


@contextmanager
def open_load_database(kind: str) -> Iterator[LoadDatabase]:
    """Make databases of a kind, which are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="keyset-load-") as name:
        folder = Path(name)
        if kind == "sqlite":
            url = f"sqlite:///{folder / 'service.sqlite'}"
            migrate_up(url)
            yield LoadDatabase(folder, url, f"sqlite:///{folder / 'barest.sqlite'}", None)
            return
        with postgresql.own_server(is_durable=True) as server:
            url = _create_database(server.folder, "service")
            barest_url = _create_database(server.folder, "barest")
            migrate_up(url)
            yield LoadDatabase(folder, url, barest_url, server)


def _create_database(folder: Path, name: LiteralString) -> str:
    admin = postgresql.address(folder, "postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgresql.address(folder, name)
