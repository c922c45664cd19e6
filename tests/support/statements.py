"""What a thread asks a database while it writes, as the drivers get it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from bench.statements import Statement
from grader.store.database import Database


@contextmanager
def record_writing(database: Database) -> Iterator[list[Statement]]:
    """Record the statements of this thread's write sessions."""
    kept: list[Statement] = []
    thread = threading.get_ident()

    def keep(_: Any, __: Any, sql: str, parameters: Any, ___: Any, ____: bool) -> None:
        if threading.get_ident() == thread:
            kept.append(Statement(sql, parameters))

    event.listen(database.writing, "before_cursor_execute", keep)
    try:
        yield kept
    finally:
        event.remove(database.writing, "before_cursor_execute", keep)
