"""Many rows by one statement, which is compiled once.

SQLAlchemy looks at every value of every row anew, which for the rows of a batch takes several times
as long as the database itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Dialect, Insert, Table, bindparam, cast, select
from sqlalchemy.types import String, TypeDecorator

from grader.store.database import Session
from grader.store.keys import SENT_ROWS, list_sent_values
from grader.store.upserts import make_insert, replace_existing


def insert_rows(
    session: Session,
    table: Table,
    names: tuple[str, ...],
    rows: Iterable[Sequence[Any]],
    *,
    key: tuple[str, ...] = (),
) -> None:
    """Insert rows whose values come in the order of the named columns.

    With `key`, a row with an existing key takes the new values.
    """
    connection = session.connection()
    _compile(table, names, key, connection.dialect).run(connection, rows)


@dataclass(frozen=True, slots=True)
class _CompiledInsert:
    """An insert as the driver takes it."""

    text: str
    #: What the columns of some types are given through, by their places.
    processors: Sequence[tuple[int, Callable[[Any], Any]]]
    #: Puts values into the order of the statement; None where all rows are one parameter.
    arrange: Callable[[Sequence[Any]], tuple[Any, ...]] | None

    def run(self, connection: Connection, rows: Iterable[Sequence[Any]]) -> None:
        processed = [self._process(row) for row in rows]
        if not processed:
            return
        sent: Any = (
            {SENT_ROWS: orjson.dumps(processed).decode()}
            if self.arrange is None
            else [self.arrange(row) for row in processed]
        )
        connection.exec_driver_sql(self.text, sent)

    def _process(self, row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for place, process in self.processors:
            values[place] = process(values[place])
        return values


# Each database that a process opens has a dialect of its own.
@lru_cache(maxsize=64)
def _compile(
    table: Table, names: tuple[str, ...], key: tuple[str, ...], dialect: Dialect
) -> _CompiledInsert:
    columns = [table.c[name] for name in names]
    # SQLite is called for each row. To PostgreSQL each call is a message, and it reads an array of
    # rows faster than as many messages.
    is_one_parameter = dialect.name == "postgresql"
    statement: Insert = make_insert(dialect.name, table)
    if is_one_parameter:
        statement = statement.from_select(list(names), _select_sent(columns))
    else:
        statement = statement.values({name: bindparam(name) for name in names})
    if key:
        statement = replace_existing(statement, names, key)
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(names))
    processors = []
    for place, column in enumerate(columns):
        process = column.type.dialect_impl(dialect).bind_processor(dialect)
        if process is not None:
            processors.append((place, process))
    if is_one_parameter:
        return _CompiledInsert(str(compiled), processors, None)
    order = [names.index(each) for each in compiled.positiontup]
    return _CompiledInsert(str(compiled), processors, _make_arrange(order))


def _select_sent(columns: Sequence[Column[Any]]) -> Any:
    """The rows of the one parameter, each value of the type of its column."""
    texts = list_sent_values("postgresql", len(columns))
    return select(
        *(
            # A cast to text of limited length would cut it off without a word.
            text if _is_text(column) else cast(text, column.type)
            for text, column in zip(texts, columns, strict=True)
        )
    )


def _is_text(column: Column[Any]) -> bool:
    kind = column.type
    return isinstance(kind.impl if isinstance(kind, TypeDecorator) else kind, String)


def _make_arrange(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    # Of a single place `itemgetter` would give the value itself.
    return itemgetter(*places) if len(places) > 1 else tuple
