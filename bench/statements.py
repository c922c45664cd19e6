"""Which statements are sent to a database, for measuring them and for looking at their plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event

from grader.store.database import Database


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the database got it, with its parameters."""

    sql: str
    parameters: Any


@contextmanager
def record_statements(database: Database) -> Iterator[list[Statement]]:
    """Keep all selects that readers of a database send meanwhile."""
    kept: list[Statement] = []

    def keep(_: Any, __: Any, sql: str, parameters: Any, ___: Any, ____: bool) -> None:
        # To begin a transaction is one of them, too, on SQLite.
        if sql.startswith(("SELECT", "WITH")):
            kept.append(Statement(sql, parameters))

    event.listen(database.reading, "before_cursor_execute", keep)
    try:
        yield kept
    finally:
        event.remove(database.reading, "before_cursor_execute", keep)


def run_statements(database: Database, statements: Sequence[Statement]) -> int:
    """Send statements once more, as bare as can be, and return how many rows came back."""
    rows = 0
    with database.reading.connect() as connection:
        cursor = connection.connection.cursor()
        for each in statements:
            cursor.execute(each.sql, each.parameters)
            rows += len(cursor.fetchall())
        cursor.close()
    return rows


def explain_statement(database: Database, statement: Statement) -> list[str]:
    """How the database would carry out a statement, step by step.

    PostgreSQL reads and sorts small tables as a whole; it is asked what it would do with large
    ones.
    """
    word = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
    with database.reading.connect() as connection:
        cursor = connection.connection.cursor()
        if not database.is_sqlite:
            for way in ("seqscan", "sort", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(f"{word} {statement.sql}", statement.parameters)
        found = [str(row[-1]) for row in cursor.fetchall()]
        cursor.close()
    return found
