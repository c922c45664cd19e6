"""Rows read with distrust, for `grader verify`: a damaged one does not hide those behind it.

Every other query may trust what was written. Here columns are taken as the database has them, and
what they mean is read row by row, so that a row that holds something else is given as `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from sqlalchemy import Boolean, Dialect, Integer, Select, String, type_coerce
from sqlalchemy.exc import DatabaseError, InternalError
from sqlalchemy.types import NullType

from grader.store.database import Session

#: So many rows are in memory at once; an answer may have a megabyte.
AT_ONCE = 200

_PLAIN = {Boolean: bool, Integer: int, String: str}

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that cannot be read; `id` says which one it is."""

    id: str


class Damage(Exception):
    """The database's file is damaged below the level of rows."""


@contextmanager
def noticing_damage() -> Iterator[None]:
    """Raise `Damage` where the database cannot read its own file."""
    try:
        yield
    except DatabaseError as error:
        # Its other kinds say that the database is away, or that a statement is wrong.
        if type(error) not in (DatabaseError, InternalError):
            raise
        raise Damage(str(error.orig)) from error


def columns_of(table: Any, line: type[Any]) -> tuple[Any, ...]:
    """The columns of a table that a line has, in the order of its fields."""
    return tuple(getattr(table, field.name) for field in fields(line))


def raw(columns: Sequence[Any]) -> list[Any]:
    """Columns as the database has them, for `walk_rows`."""
    return [
        # Two tables may have columns of one name.
        type_coerce(column, NullType()).label(f"column_{place}")
        for place, column in enumerate(columns)
    ]


def walk_rows(
    session: Session,
    statement: Select[Any],
    columns: Sequence[Any],
    make: Callable[[list[Any]], Line],
) -> Iterator[Line | Unreadable]:
    """Rows of `raw` columns as lines, a few at a time; the first column names a row."""
    dialect = session.connection().dialect
    readers = [_reader(column, dialect) for column in columns]
    for row in session.execute(statement.execution_options(yield_per=AT_ONCE)):
        try:
            line = make([read(value) for read, value in zip(readers, row, strict=True)])
        except (TypeError, ValueError, ArithmeticError):
            yield Unreadable(str(row[0]))
        else:
            yield line


def _reader(column: Any, dialect: Dialect) -> Callable[[Any], Any]:
    kind = column.type
    process = kind.dialect_impl(dialect).result_processor(dialect, None)
    # SQLite keeps any value in any column; what is no text or number then is damaged.
    expected = next((each for base, each in _PLAIN.items() if isinstance(kind, base)), object)

    def read(value: Any) -> Any:
        if value is None:
            return None
        value = process(value) if process else value
        if not isinstance(value, expected):
            raise TypeError(f"{column} holds a {type(value).__name__}")
        return value

    return read
