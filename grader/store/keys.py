"""Many keys as one parameter: a table of them that a statement joins.

The text of such a statement is the same for any number of keys, so that it is compiled and prepared
once, and the database looks up exactly these keys by an index.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)

from grader.store.compiled import list_rows
from grader.store.database import Session

#: The name of the parameter: keys to look up, or rows to insert.
SENT_ROWS = "keys"


@cache
def make_key_table(dialect: str, *names: str) -> Subquery:
    """A table of keys with one column of text for each name; `bind_keys` gives its rows."""
    texts = list_sent_values(dialect, len(names))
    columns = [cast(text, Text).label(name) for text, name in zip(texts, names, strict=True)]
    table = select(*columns).subquery("wanted")
    # SQLAlchemy makes its columns when they are first asked for. Two threads that share it and ask
    # at once would get different ones, and a statement of the first would never find its own again.
    list(table.c)
    return table


def list_sent_values(dialect: str, count: int) -> list[ColumnElement[Any]]:
    """The values of the rows that are sent as one parameter, a JSON array of arrays."""
    sent = bindparam(SENT_ROWS, type_=Text)
    if dialect == "postgresql":
        # On SQLite nobody needs this dialect, which takes long to import.
        from sqlalchemy.dialects.postgresql import JSONB

        rows = func.jsonb_array_elements(cast(sent, JSONB)).table_valued("value", name="sent")
        value: Any = rows.c.value
        # A constant in the text of the statement, or else it would be one more parameter.
        return [value.op("->>")(literal_column(str(place))) for place in range(count)]
    rows = func.json_each(sent).table_valued("value", name="sent")
    return [func.json_extract(rows.c.value, f"$[{place}]") for place in range(count)]


def match_keys(keys: Subquery, table: Any) -> ColumnElement[bool]:
    """That a row of a table has one of the keys."""
    return and_(*(getattr(table, column.name) == column for column in keys.c))


def bind_keys(keys: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """The keys as the parameter of a statement; each is looked up once."""
    return {SENT_ROWS: orjson.dumps(sorted(set(keys))).decode()}


def list_by_keys(
    session: Session, statement: Select[Any], keys: Iterable[tuple[str, ...]]
) -> list[tuple[Any, ...]]:
    """The rows of a statement that joins a table of keys; it is made once, as for `list_rows`."""
    return list_rows(session, statement, bind_keys(keys))


def get_dialect(session: Session) -> str:
    """The name of the database's dialect, by which statements are made."""
    return str(session.get_bind().dialect.name)
