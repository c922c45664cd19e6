"""Migrating a database up and down.

The migrations are the files `alembic/versions/NNNN_words.py`; the number is the revision. They run
in one transaction under a lock, so any number of processes may start at once, and none ever sees a
half-migrated database.

After a change of `grader.store.tables`, `python tools/migration.py "What it does"` writes the next
file. Without words it rewrites the newest one, which is right only until that is released.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from grader.errors import OperatorError, Unavailable
from grader.store.database import Database, Session, lock, open_database
from grader.store.queries.audit import record_existing_rows

if TYPE_CHECKING:
    from alembic.config import Config

#: The name of the state before the first migration.
BASE = "base"


def get_migrations_folder() -> Path:
    """The folder of the migrations: in the source tree, or in the installed package."""
    package = Path(str(resources.files("grader")))
    for folder in (package / "_shipped" / "alembic", package.parent / "alembic"):
        if (folder / "versions").is_dir():
            return folder
    raise OperatorError("The migrations of the database are not installed.")


def list_revisions() -> list[str]:
    """All revisions of this version of Keyset, oldest first."""
    files = (get_migrations_folder() / "versions").glob("[0-9]*.py")
    return sorted(file.name.partition("_")[0] for file in files)


def find_current_revision(url: str, *, read_only: bool = False) -> str | None:
    """The revision of a database; None before the first migration."""
    with _open(url, read_only=read_only) as database, database.read() as session:
        return _find_revision(session.connection())


def list_pending_revisions(url: str, *, read_only: bool = False) -> list[str]:
    """The revisions that `migrate_up` would apply."""
    return _list_later_revisions(find_current_revision(url, read_only=read_only))


def has_pending_revisions(session: Session) -> bool:
    """Whether `migrate_up` would change the database of this session."""
    return bool(_list_later_revisions(_find_revision(session.connection())))


def write_revision_again(session: Session) -> None:
    """Write what is there already: the smallest change that a database can accept or refuse."""
    session.execute(text("UPDATE alembic_version SET version_num = version_num"))


def migrate_up(url: str) -> list[str]:
    """Migrate a database to the newest revision, and return the revisions that were applied.

    If there is nothing to do, it is one query.

    Raises
    ------
    OperatorError
        If the database is unreachable, is not Keyset's, or belongs to a newer version.
    """
    if not list_pending_revisions(url):
        return []
    with _open_locked(url) as session:
        # Another process may have migrated it in the meantime.
        pending = _list_later_revisions(_find_revision(session.connection()))
        if pending:
            _run_alembic(session.connection(), "up", pending[-1])
            record_existing_rows(session, at=datetime.now(UTC))
    return pending


def migrate_down(url: str, to: str) -> list[str]:
    """Migrate a database down to a revision or to `base`, and return the revisions undone.

    Raises
    ------
    OperatorError
        If there is no such revision, or what is stored cannot be brought there.
    """
    known = [BASE, *list_revisions()]
    if to not in known:
        raise OperatorError(f"There is no revision {to}. Known: {', '.join(known)}.")
    with _open_locked(url) as session:
        before = _find_revision(session.connection()) or BASE
        _list_later_revisions(before)
        undone = known[known.index(to) + 1 : known.index(before) + 1]
        if undone:
            _run_alembic(session.connection(), "down", to)
    return undone[::-1]


def _list_later_revisions(revision: str | None) -> list[str]:
    """The revisions after this one; an unknown revision belongs to a newer version of Keyset."""
    known = [BASE, *list_revisions()]
    if revision is not None and revision not in known:
        raise OperatorError(
            f"The database is at revision {revision}, but this version of Keyset knows only "
            f"revisions up to {known[-1]}. Install the newer version that migrated the database."
        )
    return known[known.index(revision or BASE) + 1 :]


def _find_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


@contextmanager
def _open(url: str, *, read_only: bool = False) -> Iterator[Database]:
    try:
        with closing(open_database(url, read_only=read_only)) as database:
            yield database
    except (Unavailable, SQLAlchemyError) as error:
        raise OperatorError(f"The database cannot be used: {_describe_error(error)}") from error


@contextmanager
def _open_locked(url: str) -> Iterator[Session]:
    """A transaction during which no other process migrates the database."""
    with _open(url) as database:
        if database.is_sqlite:
            event.listen(database.writing, "connect", _prepare_sqlite)
        with database.write() as session:
            _lock_migrations(session)
            yield session
            _check_references(session)


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # SQLite changes a table by replacing it, which must not delete the rows that refer to it.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA busy_timeout = 600000")


def _lock_migrations(session: Session) -> None:
    """On PostgreSQL wait for the lock without a limit; on SQLite the write transaction is one."""
    if session.connection().dialect.name == "postgresql":
        session.execute(text("SET LOCAL lock_timeout = 0"))
        session.execute(text("SET LOCAL statement_timeout = 0"))
        lock(session, ["migrations"])
        # Changing a table must not block the whole service behind one long reader.
        session.execute(text("SET LOCAL lock_timeout = '10s'"))


def _check_references(session: Session) -> None:
    """Roll back if a migration on SQLite left a dangling reference."""
    if session.connection().dialect.name == "sqlite":
        dangling = session.execute(text("PRAGMA foreign_key_check")).first()
        if dangling is not None:
            raise OperatorError(
                f"A row of {dangling[0]} would refer to a missing row of {dangling[2]}. "
                "The database was not changed."
            )


def _run_alembic(connection: Connection, direction: Literal["up", "down"], to: str) -> None:
    # Imported only when needed, so that the service starts faster.
    from alembic import command
    from alembic.util import CommandError

    logging.getLogger("alembic").setLevel(logging.WARNING)
    migrate = command.upgrade if direction == "up" else command.downgrade
    try:
        migrate(build_alembic_config(connection), to)
    except CommandError as error:
        # A migration refuses in this way, because it imports nothing of ours.
        raise OperatorError(str(error)) from None


def build_alembic_config(connection: Connection, **comparison: Any) -> Config:
    """Alembic's configuration for a connection; `env.py` passes the comparison options on."""
    from alembic.config import Config

    config = Config()
    # In Alembic's configuration a percent sign begins an interpolation.
    config.set_main_option("script_location", str(get_migrations_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    config.attributes["comparison"] = comparison
    return config


def _describe_error(error: BaseException) -> str:
    """The first line of the driver's message."""
    cause = error.__cause__ if isinstance(error, Unavailable) else error
    original = cause.orig if isinstance(cause, DBAPIError) else cause
    line = str(original).strip().partition("\n")[0]
    return line if line.endswith(".") else line + "."
