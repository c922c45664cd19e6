"""Rows: their ids, frozen lines made from them, batches of values, and rows that are damaged."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Boolean, Dialect, Integer, Select, String, Table, type_coerce
from sqlalchemy.exc import DatabaseError, InternalError
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import NullType

from grader.store.database import Session

Value = TypeVar("Value")

# Databases bound how many values one statement takes.
_VALUES_PER_STATEMENT = 500


def split_into_batches(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """The values in order, in batches that fit into one statement."""
    for start in range(0, len(values), _VALUES_PER_STATEMENT):
        yield values[start : start + _VALUES_PER_STATEMENT]


Line = TypeVar("Line")


def to_line(kind: type[Line], row: Any) -> Line:
    """A row as a line of this kind; the columns come in the order of its fields."""
    return kind(*row)


#: Maximum rows in memory at once; an answer may have a megabyte.
ROWS_PER_FETCH = 200

_PYTHON_TYPES = {Boolean: bool, Integer: int, String: str}

Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that cannot be read; `id` says which one it is."""

    id: str


class DamagedDatabase(Exception):
    """The database's file is damaged below the level of rows."""


@contextmanager
def raise_on_damage() -> Iterator[None]:
    """Raise `Damage` where the database cannot read its own file."""
    try:
        yield
    except DatabaseError as error:
        # Its other kinds say that the database is away, or that a statement is wrong.
        if type(error) not in (DatabaseError, InternalError):
            raise
        raise DamagedDatabase(str(error.orig)) from error


@contextmanager
def tolerate_bad_text(session: Session) -> Iterator[None]:
    """Read text that is no UTF-8, so that `stream_rows` can report its row and go on.

    SQLite stores any bytes as text, and by default one such value ends the whole statement.
    """
    connection: Any = session.connection().connection.driver_connection
    if not isinstance(connection, sqlite3.Connection):
        yield
        return
    connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = str


def get_table(row: type[DeclarativeBase]) -> Table:
    """The table of mapped rows, for statements that need no mapper to look at every row."""
    table = row.__table__
    assert isinstance(table, Table), "every class of rows has a table of its own"
    return table


def list_columns(table: Any, line: type[Any]) -> tuple[Any, ...]:
    """The columns of a table that a line has, in the order of its fields."""
    return tuple(getattr(table, name) for name in line.__match_args__)


def to_raw_columns(columns: Sequence[Any]) -> list[Any]:
    """Columns as the database has them, for `walk_rows`."""
    return [
        # Two tables may have columns of one name.
        type_coerce(column, NullType()).label(f"column_{place}")
        for place, column in enumerate(columns)
    ]


def stream_rows(
    session: Session,
    statement: Select[Any],
    columns: Sequence[Any],
    make: Callable[[list[Any]], Parsed],
    *,
    rows_per_fetch: int = ROWS_PER_FETCH,
) -> Iterator[Parsed | UnreadableRow]:
    """Rows of `raw` columns as lines, a few at a time; the first column names a row."""
    dialect = session.connection().dialect
    readers = [_make_reader(column, dialect) for column in columns]
    for row in session.execute(statement.execution_options(yield_per=rows_per_fetch)):
        try:
            line = make([read(value) for read, value in zip(readers, row, strict=True)])
        except (TypeError, ValueError, ArithmeticError):
            yield UnreadableRow(str(row[0]))
        else:
            yield line


def _make_reader(column: Any, dialect: Dialect) -> Callable[[Any], Any]:
    kind = column.type
    process = kind.dialect_impl(dialect).result_processor(dialect, None)
    # SQLite keeps any value in any column; what is no text or number then is damaged.
    expected = next(
        (each for base, each in _PYTHON_TYPES.items() if isinstance(kind, base)), object
    )

    def read(value: Any) -> Any:
        if value is None:
            return None
        value = process(value) if process else value
        if not isinstance(value, expected):
            raise TypeError(f"{column} holds a {type(value).__name__}")
        if isinstance(value, str) and not value.isascii():
            # Raises ValueError for bytes that are no text.
            value.encode()
        return value

    return read


_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
#: Two letters at a time take half the steps.
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]
_LENGTH = 26


def make_id(kind: str) -> str:
    """A new identifier such as `att_01k9…`: 48 bits of time in milliseconds and 80 random ones.

    Identifiers made later sort later, so that an index grows at its end. They are no secrets.
    """
    # The operating system's own random numbers would let another thread go first each time.
    number = (time.time_ns() // 1_000_000 << 80) | random.getrandbits(80)
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(5 * _LENGTH - 10, -1, -10)]
    return f"{kind}_{''.join(pairs)}"
