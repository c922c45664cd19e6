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

from sqlalchemy import Dialect, Insert

from grader.store.database import Session


def insert_rows(
    session: Session, statement: Insert, names: tuple[str, ...], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows whose values come in the order of the named columns.

    `statement` is made once, and has a parameter for each of these columns.
    """
    connection = session.connection()
    compiled = _compile(statement, names, connection.dialect)
    connection.exec_driver_sql(compiled.text, [compiled.to_parameters(row) for row in rows])


@dataclass(frozen=True, slots=True)
class _CompiledInsert:
    """An insert as the driver takes it."""

    text: str
    names: tuple[str, ...]
    #: What the columns of some types are given through, by their places.
    processors: Sequence[tuple[int, Callable[[Any], Any]]]
    #: Puts values into the order of the statement; None where parameters have names.
    arrange: Callable[[Sequence[Any]], tuple[Any, ...]] | None

    def to_parameters(self, row: Sequence[Any]) -> Any:
        """A row as the driver takes it."""
        values = list(row)
        for place, process in self.processors:
            values[place] = process(values[place])
        if self.arrange is None:
            return dict(zip(self.names, values, strict=True))
        return self.arrange(values)


# Each database that a process opens has a dialect of its own.
@lru_cache(maxsize=64)
def _compile(statement: Insert, names: tuple[str, ...], dialect: Dialect) -> _CompiledInsert:
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(names))
    processors = []
    for place, name in enumerate(names):
        kind = statement.table.c[name].type.dialect_impl(dialect)
        process = kind.bind_processor(dialect)
        if process is not None:
            processors.append((place, process))
    order = compiled.positiontup
    arrange = None if order is None else _make_arrange([names.index(each) for each in order])
    return _CompiledInsert(str(compiled), names, processors, arrange)


def _make_arrange(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    # Of a single place `itemgetter` would give the value itself.
    return itemgetter(*places) if len(places) > 1 else tuple
