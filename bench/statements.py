"""Record the SELECT statements of a database, to time them and to explain their plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event

from grader.store.database import Database


@dataclass(frozen=True, slots=True)
class Statement:
    """A SQL statement with its parameters."""

    sql: str
    parameters: Any


@contextmanager
def record_statements(database: Database) -> Iterator[list[Statement]]:
    """Record all SELECT statements on the reading connections of a database."""
    kept: list[Statement] = []

    def keep(_: Any, __: Any, sql: str, parameters: Any, ___: Any, ____: bool) -> None:
        # On SQLite, BEGIN comes here too.
        if sql.startswith(("SELECT", "WITH")):
            kept.append(Statement(sql, parameters))

    event.listen(database.reading, "before_cursor_execute", keep)
    try:
        yield kept
    finally:
        event.remove(database.reading, "before_cursor_execute", keep)


def run_statements(database: Database, statements: Sequence[Statement]) -> int:
    """Run statements on a bare cursor, and return the number of rows."""
    rows = 0
    with database.reading.connect() as connection:
        cursor = connection.connection.cursor()
        for each in statements:
            cursor.execute(each.sql, each.parameters)
            rows += len(cursor.fetchall())
        cursor.close()
    return rows


def explain_statement(database: Database, statement: Statement) -> list[str]:
    """The query plan of a statement, step by step.

    PostgreSQL scans and sorts small tables as a whole, so these steps are disabled to get the plan
    for large ones.
    """
    word = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
    with database.reading.connect() as connection:
        cursor = connection.connection.cursor()
        if not database.is_sqlite:
            for step in ("seqscan", "sort", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{step} = off")
        cursor.execute(f"{word} {statement.sql}", statement.parameters)
        found = [str(row[-1]) for row in cursor.fetchall()]
        cursor.close()
    return found
