"""Inserts that meet existing rows, for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table

from grader.store.database import Session
from grader.store.rows import get_table
from grader.store.tables.base import Base


def insert_missing(
    session: Session, table: type[Base], rows: Sequence[dict[str, Any]], *, key: tuple[str, ...]
) -> None:
    """Insert rows whose key does not exist yet; existing rows stay unchanged."""
    if rows:
        connection = session.connection()
        connection.execute(_insert_missing(connection.dialect.name, table, key), list(rows))


def insert_or_replace_from(
    session: Session,
    table: type[Base],
    names: tuple[str, ...],
    rows: Select[Any],
    *,
    key: tuple[str, ...],
    parameters: dict[str, Any],
) -> None:
    """Insert selected rows; a row with an existing key takes the new values.

    `rows` is a statement that is made once, with `parameters` bound by name.
    """
    connection = session.connection()
    statement = _insert_or_replace_from(connection.dialect.name, table, names, rows, key)
    connection.execute(statement, parameters)


# SQLAlchemy takes longer to put such a statement together than the database to run it.


@cache
def _insert_missing(dialect: str, table: type[Base], key: tuple[str, ...]) -> Any:
    return make_insert(dialect, get_table(table)).on_conflict_do_nothing(index_elements=list(key))


@cache
def _insert_or_replace_from(
    dialect: str,
    table: type[Base],
    names: tuple[str, ...],
    rows: Select[Any],
    key: tuple[str, ...],
) -> Any:
    statement = make_insert(dialect, get_table(table)).from_select(list(names), rows)
    return replace_existing(statement, names, key)


def replace_existing(statement: Any, names: tuple[str, ...], key: tuple[str, ...]) -> Any:
    """An insert by the named columns after which a row with an existing key has the new values."""
    changed = {name: statement.excluded[name] for name in names if name not in key}
    return statement.on_conflict_do_update(index_elements=list(key), set_=changed)


def insert_or_replace_where(
    session: Session,
    table: type[Base],
    row: dict[str, Any],
    *,
    key: str,
    where: ColumnElement[bool],
) -> bool:
    """Insert a row, or give the one of this key its values where `where` holds for what is there.

    Returns whether the row has the new values.
    """
    statement = make_insert(session.get_bind().dialect.name, get_table(table)).values(**row)
    changed = {name: statement.excluded[name] for name in row if name != key}
    statement = statement.on_conflict_do_update(index_elements=[key], set_=changed, where=where)
    return session.execute(statement.returning(getattr(table, key))).one_or_none() is not None


def make_insert(dialect: str, table: Table) -> Any:
    """An insert into a table, which may meet existing rows."""
    # The other dialect is not imported, so that the service starts faster.
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
