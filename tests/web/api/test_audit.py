"""The audit chain: what staff do happens together with its entry, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Response
from sqlalchemy import text

from grader.store.database import Database
from tests.support.access_matrix import ASSIGNMENT, BROWSERS, COURSE, OWN, QUESTION, ROWS, Row
from tests.support.snapshots import take_rows
from tests.support.world import World, make_service

#: Changes that leave no entry: what students do, signing in, and what stores nothing.
UNAUDITED = {
    "POST /api/v1/session",
    "POST /api/v1/grade",
    f"POST {COURSE}/roster/preview",
    f"POST {ASSIGNMENT}/publications/preview",
    f"POST {COURSE}/uploads",
    f"POST {QUESTION}/check",
    f"POST {QUESTION}/attempts",
}
#: What the matrix sends is in force already, so that it would change nothing.
DIFFERENCES = {
    f"POST {ASSIGNMENT}/publications": {"due_at": "2026-12-24T12:00:00Z"},
    f"POST {COURSE}/roster": {"csv": "login,name\nnew,New Surname-Of-New\n"},
}
CHANGES = [row for row in ROWS if row.method != "GET" and row.may != BROWSERS]


def test_nothing_happens_whose_entry_cannot_be_written(database: Database) -> None:
    with make_service(database) as world:
        for row in CHANGES:
            send = prepare(world, row)
            before = take_contents(database)
            if row.name not in UNAUDITED:
                with failing_audit(database):
                    refused = send()
                assert refused.status_code == 503, (row.name, refused.text)
                assert "audit chain" in refused.json()["detail"]
                assert take_contents(database) == before, row.name

            # Otherwise the same call is in order.
            done = send()
            assert done.status_code == row.ok, (row.name, done.text)
            entries = len(take_contents(database)["audit"]) - len(before["audit"])
            assert (entries > 0) == (row.name not in UNAUDITED), row.name


def prepare(world: World, row: Row) -> Callable[[], Response]:
    """The call of a row by somebody who may make it; what it needs is made now."""
    who = next(each for each in ("irene", "olga", "ada") if each in row.may)
    objects = OWN | row.prepare(world, who)
    body = row.body(world, objects) if row.body else None
    if row.name in DIFFERENCES:
        assert body is not None
        body = {**body, **DIFFERENCES[row.name]}
    headers = row.headers(world, objects) if row.headers else {}
    return lambda: world.call(row.method, row.path.format(**objects), who, body, headers)


def take_contents(database: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows by table, without when a token was last used, which is noted some time later."""
    return {
        table.name: sorted(({**row, "used_at": None} for row in rows), key=repr)
        for table, rows in take_rows(database)
    }


@contextmanager
def failing_audit(database: Database) -> Iterator[None]:
    """A database that accepts everything but an entry of the audit chain."""
    begin, end = _ON_SQLITE if database.is_sqlite else _ON_POSTGRESQL
    with database.write() as session:
        for statement in begin:
            session.execute(text(statement))
    yield
    with database.write() as session:
        session.execute(text(end))


_ON_SQLITE = (
    ["CREATE TRIGGER fail BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END"],
    "DROP TRIGGER fail",
)
_ON_POSTGRESQL = (
    [
        "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
        "CREATE TRIGGER fail BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION fail()",
    ],
    "DROP TRIGGER fail ON audit",
)
