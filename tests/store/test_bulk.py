"""Many rows by one statement: each value comes to its column, as SQLAlchemy alone would put it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, select
from sqlalchemy.exc import DataError, IntegrityError, StatementError

from grader.store.bulk import insert_rows
from grader.store.database import Database
from grader.store.types import Hundredths, JsonText, UtcDateTime

THINGS = Table(
    "bulk_things",
    MetaData(),
    Column("id", String, primary_key=True),
    Column("number", Integer),
    Column("points", Hundredths),
    Column("content", JsonText),
    Column("at", UtcDateTime),
)
NOON = datetime(2026, 11, 16, 12, tzinfo=timezone(timedelta(hours=2)))
ROWS: list[dict[str, Any]] = [
    {"id": "a'b", "number": 1, "points": Decimal("7.25"), "content": {"q": [0.1, 7]}, "at": NOON},
    {"id": "%s?", "number": None, "points": None, "content": None, "at": None},
    {"id": "ü", "number": -3, "points": Decimal(0), "content": "text", "at": NOON},
]  # fmt: skip


@pytest.fixture
def things(database: Database) -> Iterator[Database]:
    with database.write() as session:
        THINGS.create(session.connection())
    yield database
    with database.write() as session:
        THINGS.drop(session.connection())


def put(database: Database, names: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    with database.write() as session:
        insert_rows(session, THINGS, names, [tuple(row[name] for name in names) for row in rows])


def read(database: Database) -> dict[str, dict[str, Any]]:
    with database.read() as session:
        return {row["id"]: dict(row) for row in session.execute(select(THINGS)).mappings()}


@pytest.mark.parametrize(
    "names",
    [
        ("id", "number", "points", "content", "at"),
        ("at", "content", "id", "points", "number"),
    ],
)
def test_values_come_to_their_columns_in_any_order(
    things: Database, names: tuple[str, ...]
) -> None:
    put(things, names, ROWS)

    assert read(things) == {row["id"]: {**row, "at": row["at"] and NOON} for row in ROWS}
    assert {row["at"].tzinfo for row in read(things).values() if row["at"]} == {UTC}


def test_columns_that_are_not_named_stay_empty(things: Database) -> None:
    put(things, ("points", "id"), ROWS)

    assert read(things)["ü"] == dict.fromkeys(THINGS.c.keys()) | {"id": "ü", "points": Decimal(0)}


def test_the_same_statement_serves_any_columns_and_any_number_of_rows(things: Database) -> None:
    put(things, ("id", "number"), ROWS[:1])
    put(things, ("number", "id"), ROWS[1:])
    put(things, ("id",), [{"id": str(number)} for number in range(300)])

    assert len(read(things)) == 303
    assert [read(things)[row["id"]]["number"] for row in ROWS] == [1, None, -3]


def test_a_value_that_its_type_refuses_stores_nothing(things: Database) -> None:
    with pytest.raises((ValueError, StatementError), match="more than two decimals"):
        put(things, ("id", "points"), [ROWS[0], {"id": "late", "points": Decimal("0.125")}])

    assert read(things) == {}


def test_a_row_that_exists_is_an_integrity_error(things: Database) -> None:
    put(things, ("id",), ROWS[:1])

    with pytest.raises(IntegrityError):
        put(things, ("id",), ROWS)

    assert set(read(things)) == {"a'b"}


def test_a_row_with_an_existing_key_takes_the_new_values(things: Database) -> None:
    put(things, ("id", "number", "points"), ROWS)

    with things.write() as session:
        rows = [("ü", 5), ("new", 6)]
        insert_rows(session, THINGS, ("id", "number"), rows, key=("id",))

    found = read(things)
    assert {name: row["number"] for name, row in found.items()} == {
        "a'b": 1, "%s?": None, "ü": 5, "new": 6,
    }  # fmt: skip
    assert found["ü"]["points"] == Decimal(0)


def test_no_rows_are_no_statement(things: Database) -> None:
    put(things, ("id",), [])

    assert read(things) == {}


def test_text_that_is_too_long_is_refused_and_not_cut_off(postgresql_database: Database) -> None:
    # SQLite stores text of any length.
    short = Table("bulk_short", MetaData(), Column("id", String(3), primary_key=True))
    with postgresql_database.write() as session:
        short.create(session.connection())
    try:
        with pytest.raises(DataError), postgresql_database.write() as session:
            insert_rows(session, short, ("id",), [("abcd",)])
    finally:
        with postgresql_database.write() as session:
            short.drop(session.connection())
