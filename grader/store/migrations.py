"""Bringing a database up to date, and back.

The migrations are the files `alembic/versions/NNNN_words.py`, one after the other: the number is
the revision. They run in one transaction under a lock, so that any number of processes may start
at once and none ever meets a database that is half-way.

After a change of `grader.store.tables`, `python tools/migration.py "What it does"` writes the next
file; without words it writes the newest one anew, which is right only until it is released.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from grader.errors import OperatorError, Unavailable
from grader.store.database import Database, Session, lock, open_database

if TYPE_CHECKING:
    from alembic.config import Config

#: The name of the state before the first migration.
BASE = "base"

# The tables of the durable jobs, which dbos makes and changes by itself. On PostgreSQL they have a
# schema of their own, on SQLite they stand beside ours.
_JOB_TABLES = re.compile(
    r"dbos.*|workflow_.*|operation_outputs|notifications|streams|queues|event_dispatch_kv"
    r"|application_versions"
)


def get_migrations_folder() -> Path:
    """Where the migrations are: in the source tree, or inside the installed package."""
    package = Path(str(resources.files("grader")))
    for folder in (package / "_shipped" / "alembic", package.parent / "alembic"):
        if (folder / "versions").is_dir():
            return folder
    raise OperatorError("The migrations of the database are not installed.")


def list_revisions() -> list[str]:
    """All revisions that this program knows, oldest first."""
    files = (get_migrations_folder() / "versions").glob("[0-9]*.py")
    return sorted(file.name.partition("_")[0] for file in files)


def find_current_revision(url: str) -> str | None:
    """The revision that a database is at; None where it has none yet."""
    with _open(url) as database, database.read() as session:
        return _find_revision(session.connection())


def list_pending_revisions(url: str) -> list[str]:
    """The revisions that `upgrade` would apply."""
    return _list_later_revisions(find_current_revision(url))


def migrate_up(url: str) -> list[str]:
    """Bring a database up to date, and return the revisions that were applied.

    Where nothing is to be done, it is one query.

    Raises
    ------
    OperatorError
        Where the database cannot be reached, is not Keyset's or is newer than the program.
    """
    if not list_pending_revisions(url):
        return []
    with _open_locked(url) as connection:
        # Another process may have done it in the meantime.
        waiting = _list_later_revisions(_find_revision(connection))
        if waiting:
            _run_alembic(connection, "up", waiting[-1])
    return waiting


def migrate_down(url: str, to: str) -> list[str]:
    """Take a database back to a revision, or to `base`, and return the revisions undone."""
    known = [BASE, *list_revisions()]
    if to not in known:
        raise OperatorError(f"There is no revision {to}. Known: {', '.join(known)}.")
    with _open_locked(url) as connection:
        before = _find_revision(connection) or BASE
        _list_later_revisions(before)
        undone = known[known.index(to) + 1 : known.index(before) + 1]
        if undone:
            _run_alembic(connection, "down", to)
    return undone[::-1]


def is_own_object(_: object, name: str | None, kind: str, reflected: bool, __: object) -> bool:
    """Whether Alembic's comparison should look at an object: not at what belongs to the jobs."""
    return not (kind == "table" and reflected and _JOB_TABLES.fullmatch(name or ""))


def _list_later_revisions(revision: str | None) -> list[str]:
    """The known revisions after one; a revision that is not known comes from a newer program."""
    known = [BASE, *list_revisions()]
    if revision is not None and revision not in known:
        raise OperatorError(
            f"The database is at revision {revision}, but this version of Keyset knows only those "
            f"up to {known[-1]}. Install the newer version that the database was used with."
        )
    return known[known.index(revision or BASE) + 1 :]


def _find_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


@contextmanager
def _open(url: str) -> Iterator[Database]:
    database = open_database(url)
    try:
        yield database
    except (Unavailable, SQLAlchemyError) as error:
        raise OperatorError(f"The database cannot be used: {_describe_error(error)}") from error
    finally:
        database.close()


@contextmanager
def _open_locked(url: str) -> Iterator[Connection]:
    """A transaction in which no other process migrates the database."""
    with _open(url) as database:
        if database.is_sqlite:
            event.listen(database.writing, "connect", _prepare_sqlite)
        with database.write() as session:
            _lock_migrations(session)
            yield session.connection()
            _check_references(session)


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # To change a table SQLite must replace it, which must not count as deleting what refers to it.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA busy_timeout = 600000")


def _lock_migrations(session: Session) -> None:
    """On PostgreSQL, wait as long as others need; on SQLite beginning to write has done it."""
    if session.connection().dialect.name == "postgresql":
        session.execute(text("SET LOCAL lock_timeout = 0"))
        session.execute(text("SET LOCAL statement_timeout = 0"))
        lock(session, ["migrations"])
        # A change of a table must not keep the whole service waiting behind one long reader.
        session.execute(text("SET LOCAL lock_timeout = '10s'"))


def _check_references(session: Session) -> None:
    """Undo everything where a migration on SQLite left a row that refers to nothing."""
    if session.connection().dialect.name == "sqlite":
        stray = session.execute(text("PRAGMA foreign_key_check")).first()
        if stray is not None:
            raise OperatorError(
                f"A row of {stray[0]} would refer to a row of {stray[2]} that is not there; "
                "the database was left as it was."
            )


def _run_alembic(connection: Connection, way: Literal["up", "down"], to: str) -> None:
    # Alembic is imported only where there is work for it: a service that starts has none.
    from alembic import command

    logging.getLogger("alembic").setLevel(logging.WARNING)
    move = command.upgrade if way == "up" else command.downgrade
    move(build_alembic_config(connection), to)


def build_alembic_config(connection: Connection, **comparison: Any) -> Config:
    """Alembic's configuration for one connection, and for comparing, which `env.py` passes on."""
    from alembic.config import Config

    config = Config()
    # In Alembic's configuration a percent sign begins a name.
    config.set_main_option("script_location", str(get_migrations_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    config.attributes["comparison"] = comparison
    return config


def _describe_error(error: BaseException) -> str:
    """The first line of what the database's own library says."""
    cause = error.__cause__ if isinstance(error, Unavailable) else error
    said = cause.orig if isinstance(cause, DBAPIError) else cause
    line = str(said).strip().partition("\n")[0]
    return line if line.endswith(".") else line + "."
