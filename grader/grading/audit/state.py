"""State rebuilt from the audit chain: the facts that its entries hold, compared with the rows.

The chain is read once, in order; of each row the facts of the newest entry stay. A row that differs
from them was changed past the service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import orjson

from grader.grading.audit.findings import AuditCheck
from grader.store.database import Session
from grader.store.queries.facts import (
    RecordedTable,
    RowFacts,
    hash_facts,
    is_hashed,
    is_recorded_completely,
    list_fact_columns,
    read_facts,
    stream_facts,
)
from grader.store.queries.verification import FactsEntry, stream_recorded_facts
from grader.store.rows import UnreadableRow


class _ExpectedRow(NamedTuple):
    """The facts of a row by the newest entry that has any, as JSON: a roster has many rows."""

    entry: int
    columns: tuple[str, ...]
    values: bytes


@dataclass(slots=True)
class _ExpectedRows:
    """The rows that should be there, by table and key."""

    tables: dict[RecordedTable, dict[str, _ExpectedRow]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, entry: FactsEntry) -> None:
        """Add the facts of the next entry; ValueError if they cannot be read."""
        for table, columns, facts in list(read_facts(entry.facts or "")):
            values = orjson.dumps(facts.values)
            self.tables[table][facts.key] = _ExpectedRow(entry.number, columns, values)

    def remove_unreadable(self, table: RecordedTable, row: UnreadableRow) -> None:
        """Forget a row whose facts are unknown; it is reported once, and is not missing."""
        expected = self.tables[table]
        if expected.pop(row.id, None) is None:
            # Its key has several columns, of which only the first is known.
            for key in [each for each in expected if each.partition("/")[0] == row.id]:
                del expected[key]


def check_state(session: Session, tally: AuditCheck) -> datetime | None:
    """Check that all recorded rows are as the chain has them, and that it has them all.

    Returns when a store that is older than the facts in its chain was recorded; changes of before
    cannot be noticed. None if every row was recorded when it was made.
    """
    expected, recorded_at = _ExpectedRows(), None
    faults: list[tuple[int, str]] = []
    for entry in stream_recorded_facts(session):
        if isinstance(entry, UnreadableRow):
            tally.report(f"audit {entry.id}", "This entry cannot be read.")
            continue
        if entry.is_of_before:
            # Every row was recorded again. Facts of before may have gone with a migration down.
            recorded_at = recorded_at or entry.at
            faults.clear()
        if fault := _add(expected, entry):
            faults.append((entry.number, fault))
    for number, fault in faults:
        tally.report(f"audit {number}", fault)
    for table in RecordedTable:
        _compare(session, table, expected, tally)
    return recorded_at


def _add(expected: _ExpectedRows, entry: FactsEntry) -> str:
    """Add an entry's facts; returns what is wrong with them."""
    if entry.facts is None:
        return "The facts that this entry recorded are missing."
    if entry.digest != hash_facts(entry.facts):
        return "The facts of this entry do not match their digest."
    try:
        expected.add(entry)
    except ValueError:
        return "The facts of this entry cannot be read."
    return ""


def _compare(
    session: Session, table: RecordedTable, expected: _ExpectedRows, tally: AuditCheck
) -> None:
    rows = expected.tables[table]
    for line in stream_facts(session, table):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(f"{table} {line.id}", "This row cannot be read.")
            expected.remove_unreadable(table, line)
            continue
        then = rows.pop(line.key, None)
        if then is not None:
            for text in _differences(table, line, then):
                tally.report(f"{table} {line.key}", text)
        elif is_recorded_completely(table):
            tally.report(f"{table} {line.key}", "No entry of the audit chain records this row.")
    for key, then in rows.items():
        text = f"Entry {then.entry} of the audit chain records it, but it is missing."
        tally.report(f"{table} {key}", text)


def _differences(table: RecordedTable, now: RowFacts, then: _ExpectedRow) -> Iterator[str]:
    """The columns that differ.

    One that was added since the row was recorded must be empty; one that is gone is not compared.
    """
    if orjson.dumps(now.values) == then.values and list_fact_columns(table) == then.columns:
        return
    recorded = dict(zip(then.columns, orjson.loads(then.values), strict=False))
    for name, value in zip(list_fact_columns(table), now.values, strict=True):
        if recorded.get(name) == value:
            continue
        if is_hashed(table, name):
            yield f"Its {name} is not what entry {then.entry} of the audit chain records."
        else:
            before = f"entry {then.entry} of the audit chain records {recorded.get(name)!r}"
            yield f"Its {name} is {value!r}, but {before}."
