"""SELECTs that nearly every request runs: compiled once, then run by the driver alone.

SQLAlchemy spends several times as long on a lookup by an index as the database itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.exc import DBAPIError

from grader.store.database import Session

#: A SELECT with any columns.
AnySelect = Select[*tuple[Any, ...]]

_Processor = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _CompiledSelect:
    """The text of a statement for one driver, and how values go in and come out."""

    sql: str
    is_positional: bool
    #: Each parameter with the value that it has by itself, and what converts a value.
    binds: tuple[tuple[str, Any, _Processor | None], ...]
    #: The columns that need a conversion.
    results: tuple[tuple[int, _Processor], ...]

    def bind(self, given: Mapping[str, Any]) -> Any:
        """The parameters as the driver takes them."""
        if self.is_positional:
            return [
                convert(given.get(name, usual)) if convert else given.get(name, usual)
                for name, usual, convert in self.binds
            ]
        return {
            name: convert(given.get(name, usual)) if convert else given.get(name, usual)
            for name, usual, convert in self.binds
        }

    def convert(self, row: Any) -> tuple[Any, ...]:
        """A row of the driver with the types of its columns."""
        values = list(row)
        for place, convert in self.results:
            values[place] = convert(values[place])
        return tuple(values)


# Statements and dialects are compared by identity.
@lru_cache(maxsize=512)
def _compile(statement: AnySelect, dialect: Dialect) -> _CompiledSelect:
    compiled = statement.compile(dialect=dialect)
    sql = str(compiled)
    assert "POSTCOMPILE" not in sql, "the text must not depend on the parameters"
    # PostgreSQL's driver takes parameters by name, that of SQLite by position.
    names = compiled.positiontup if compiled.positional else list(compiled.binds)
    binds = []
    for name in names or ():
        bind = compiled.binds[name]
        binds.append((name, bind.value, bind.type.dialect_impl(dialect).bind_processor(dialect)))
    results = []
    for place, column in enumerate(statement.selected_columns):
        convert = column.type.dialect_impl(dialect).result_processor(dialect, None)
        if convert is not None:
            results.append((place, convert))
    return _CompiledSelect(sql, compiled.positional, tuple(binds), tuple(results))


def list_rows(
    session: Session, statement: AnySelect, parameters: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """All rows of a statement that is made once: a constant, or the result of a cached function.

    Where somebody listens to the statements of the database, SQLAlchemy runs it.
    """
    connection = session.connection()
    if connection.engine.dispatch.before_cursor_execute:
        return [tuple(row) for row in connection.execute(statement, parameters)]
    compiled = _compile(statement, connection.dialect)
    cursor = connection.connection.cursor()
    try:
        cursor.execute(compiled.sql, compiled.bind(parameters))
        rows = cursor.fetchall()
    except connection.dialect.loaded_dbapi.Error as error:
        raise _to_sqlalchemy_error(connection, compiled.sql, error) from error
    finally:
        cursor.close()
    return [compiled.convert(row) for row in rows]


def find_row(
    session: Session, statement: AnySelect, parameters: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """The same for a statement that has one row at most."""
    rows = list_rows(session, statement, parameters)
    assert len(rows) <= 1, "a key has one row"
    return rows[0] if rows else None


def _to_sqlalchemy_error(connection: Connection, sql: str, error: Any) -> Exception:
    """An error of the driver as SQLAlchemy raises it; a broken connection is given up."""
    dialect = connection.dialect
    is_broken = dialect.is_disconnect(error, connection.connection, None)
    if is_broken:
        connection.invalidate(error)
    translated: Exception = DBAPIError.instance(
        sql,
        # They are not told: among them are the digests of credentials.
        None,
        error,
        dialect.loaded_dbapi.Error,
        connection_invalidated=is_broken,
        dialect=dialect,
    )
    return translated
