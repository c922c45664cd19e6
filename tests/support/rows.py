"""One row for every table, made from the models, for tests that need data everywhere."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Boolean, Column, Integer, LargeBinary, String, Table

from grader.store import tables
from grader.store.database import Session
from grader.store.types import Hundredths, JsonText, UtcDateTime

# What the constraints ask for and no type tells.
_CHOSEN: dict[str, Any] = {
    "enrolments.role": "student",
    "tokens.run_id": None,
    "integrity_checks.state": "finished",
    "jobs.state": "open",
    "regrades.state": "applied",
    "regraded_grades.side": "after",
}


def make_rows() -> dict[str, dict[str, Any]]:
    """A row for each table, by its name, in an order in which they can be added."""
    rows: dict[str, dict[str, Any]] = {}
    for table in tables.Base.metadata.sorted_tables:
        rows[table.name] = {}
        for column in table.columns:
            rows[table.name][column.name] = _value(table, column, rows)
    return rows


def add_rows(session: Session) -> None:
    """Add one row to each table."""
    for name, row in make_rows().items():
        session.execute(tables.Base.metadata.tables[name].insert(), row)


def _value(table: Table, column: Column[Any], rows: dict[str, dict[str, Any]]) -> Any:
    if f"{table.name}.{column.name}" in _CHOSEN:
        return _CHOSEN[f"{table.name}.{column.name}"]
    for key in column.foreign_keys:
        return rows[key.column.table.name][key.column.name]
    match column.type:
        case Hundredths():
            return Decimal("7.25")
        case UtcDateTime():
            return datetime(2026, 11, 16, 12, 30, 15, 123456, tzinfo=UTC)
        case JsonText():
            return {"of": column.name, "numbers": [0.1, -0.0, 1e-300]}
        case Boolean():
            return True
        case Integer():
            return 1
        case LargeBinary():
            return bytes(range(256))
        case String():
            return f"{table.name}.{column.name}"[: column.type.length]
        case other:
            raise TypeError(f"{table.name}.{column.name} has a type without an example: {other!r}")
