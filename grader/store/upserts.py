"""Inserts that meet what is there already, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite

from grader.store.database import Session
from grader.store.tables import Table


def insert_missing(
    session: Session, table: type[Table], rows: Sequence[dict[str, Any]], *, key: tuple[str, ...]
) -> None:
    """Insert rows whose key is not there yet; the others stay as they are."""
    if rows:
        statement = _insert(session, table).on_conflict_do_nothing(index_elements=list(key))
        session.execute(statement, list(rows))


def insert_or_replace(
    session: Session, table: type[Table], rows: Sequence[dict[str, Any]], *, key: tuple[str, ...]
) -> None:
    """Insert rows; where the key is there already, the row takes the new values."""
    if not rows:
        return
    statement = _insert(session, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    session.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=changed), list(rows)
    )


def _insert(session: Session, table: type[Table]) -> Any:
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    return dialect.insert(table)
