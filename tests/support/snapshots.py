"""A database as it was at some moment, to put into other ones: far faster than doing all again."""

from __future__ import annotations

from typing import Any

from sqlalchemy import TableClause, insert, select

from grader.store.database import Database
from grader.store.tables.base import Base

#: All rows of the tables that have any, those first that others refer to.
Rows = list[tuple[TableClause, list[dict[str, Any]]]]


def take_rows(database: Database) -> Rows:
    """Everything that is in a database."""
    with database.read() as session:
        found = [
            (table, [dict(row) for row in session.execute(select(table)).mappings()])
            for table in Base.metadata.sorted_tables
        ]
    return [(table, rows) for table, rows in found if rows]


def put_rows(database: Database, rows: Rows) -> None:
    """Put everything into an empty database."""
    with database.write() as session:
        for table, of_table in rows:
            session.execute(insert(table), of_table)
