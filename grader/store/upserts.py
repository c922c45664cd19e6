"""Inserts that meet existing rows, for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select

from grader.store.database import Session
from grader.store.tables.base import Base


def insert_missing(
    session: Session, table: type[Base], rows: Sequence[dict[str, Any]], *, key: tuple[str, ...]
) -> None:
    """Insert rows whose key does not exist yet; existing rows stay unchanged."""
    if rows:
        statement = _insert(session, table).on_conflict_do_nothing(index_elements=list(key))
        session.execute(statement, list(rows))


def insert_or_replace(
    session: Session, table: type[Base], rows: Sequence[dict[str, Any]], *, key: tuple[str, ...]
) -> None:
    """Insert rows; a row with an existing key takes the new values."""
    if not rows:
        return
    statement = _insert(session, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    session.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=changed), list(rows)
    )


def insert_or_replace_from(
    session: Session,
    table: type[Base],
    names: tuple[str, ...],
    rows: Select[Any],
    *,
    key: tuple[str, ...],
) -> None:
    """Insert selected rows; a row with an existing key takes the new values."""
    statement = _insert(session, table).from_select(list(names), rows)
    changed = {name: statement.excluded[name] for name in names if name not in key}
    session.execute(statement.on_conflict_do_update(index_elements=list(key), set_=changed))


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
    statement = _insert(session, table).values(**row)
    changed = {name: statement.excluded[name] for name in row if name != key}
    statement = statement.on_conflict_do_update(index_elements=[key], set_=changed, where=where)
    return session.execute(statement.returning(getattr(table, key))).one_or_none() is not None


def _insert(session: Session, table: type[Base]) -> Any:
    # The other dialect is not imported, so that the service starts faster.
    if session.get_bind().dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
