"""The tables and columns of docs/reference/store.md, made from `grader.store.tables`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, String

from grader.store.tables.base import Base
from grader.store.types import Hundredths, JsonText, UtcDateTime

HEADING = "## All columns\n"
# The first type that matches describes a column.
_TYPES = (
    (Hundredths, "points"),
    (UtcDateTime, "time"),
    (JsonText, "JSON"),
    (LargeBinary, "bytes"),
    (Boolean, "boolean"),
    (BigInteger, "big integer"),
    (Integer, "integer"),
    (String, "text"),
)


def with_columns(page: str) -> str:
    """The page with its last section made anew: every table with its columns."""
    before, heading, _ = page.partition(HEADING)
    assert heading, f"store.md must have the section {HEADING}"
    return before + HEADING + "".join(_describe_tables())


def _describe_tables() -> list[str]:
    tables = sorted((each.class_ for each in Base.registry.mappers), key=lambda e: e.__tablename__)
    return [
        f"\n### `{table.__tablename__}`\n\n{_first_sentence(table)}\n\n"
        "| column | type | |\n| --- | --- | --- |\n"
        + "".join(_describe_column(each) for each in table.__table__.columns)
        for table in tables
    ]


def _first_sentence(table: type[Base]) -> str:
    return (table.__doc__ or "").partition("\n")[0]


def _describe_column(column: Column[object]) -> str:
    kind = next(name for type_, name in _TYPES if isinstance(column.type, type_))
    if isinstance(column.type, String) and column.type.length:
        kind = f"{kind}, up to {column.type.length}"
    notes = ["primary key"] if column.primary_key else []
    notes += ["unique"] if column.unique else []
    notes += ["may be null"] if column.nullable else []
    notes += sorted(f"→ `{each.target_fullname}`" for each in column.foreign_keys)
    return f"| `{column.name}` | {kind} | {', '.join(notes)} |\n"
