"""Facts: what an entry of the audit chain records of the rows that its action changed.

The facts of a row are its values after the change. Secrets, long texts, and what tells who a person
is are hashed, each together with its place: equal names have different hashes, and a name that was
removed from the store does not stay in the chain. A sealed secret is opened first, so that its fact
stays the same whichever key seals it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from grader.store.database import Session
from grader.store.keys import bind_keys, get_dialect, make_key_table, match_keys
from grader.store.rows import UnreadableRow, stream_rows, to_raw_columns
from grader.store.sealing import SealedSecret, SealingKeys, get_sealing_keys, name_place
from grader.store.tables.attempts import JudgementRow
from grader.store.tables.audit_keys import SigningKeyRow
from grader.store.tables.base import Base
from grader.store.tables.credentials import TokenRow
from grader.store.tables.decisions import ExternalScoreRow, OverrideRow, ReviewRow
from grader.store.tables.people import CourseRow, EnrolmentRow, PersonRow, RunRow
from grader.store.tables.publications import (
    ExtensionRow,
    PublicationPartRow,
    PublicationRow,
    RubricTextRow,
)
from grader.store.tables.regrades import RegradeRow

#: Maximum rows that one entry of the chain holds the facts of.
ROWS_PER_ENTRY = 1000


class RecordedTable(StrEnum):
    """A table whose rows the audit chain records."""

    PEOPLE = "people"
    COURSES = "courses"
    RUNS = "runs"
    ENROLMENTS = "enrolments"
    TOKENS = "tokens"
    RUBRIC_TEXTS = "rubric_texts"
    PUBLICATIONS = "publications"
    PUBLICATION_PARTS = "publication_parts"
    EXTENSIONS = "extensions"
    REVIEWS = "reviews"
    OVERRIDES = "overrides"
    EXTERNAL_SCORES = "external_scores"
    REGRADES = "regrades"
    SIGNING_KEYS = "signing_keys"
    #: Only those of before receipts covered them; see `is_complete`.
    JUDGEMENTS = "judgements"


#: Rows that an action changed; those of a publication's parts are named by the publication.
ChangedRows = Mapping[RecordedTable, Iterable[str]]


@dataclass(frozen=True, slots=True)
class _Recording:
    """What is recorded of a table: some columns as they are, some as hashes."""

    row: type[Base]
    plain: tuple[str, ...]
    hashed: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    """Those of the hashed ones that may be sealed."""
    key: tuple[str, ...] = ("id",)
    is_complete: bool = True
    """Whether every row must be recorded."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.plain + self.hashed


_SCORE = ("run_id", "enrolment_id", "assignment", "question", "number", "points", "possible")

_RECORDINGS = {
    RecordedTable.PEOPLE: _Recording(
        PersonRow,
        ("is_operator", "made_at", "ended_at"),
        hashed=("login", "name", "email", "password_hash"),
    ),
    RecordedTable.COURSES: _Recording(CourseRow, ("title", "made_at")),
    RecordedTable.RUNS: _Recording(
        RunRow,
        ("course_id", "title", "time_zone", "made_at"),
        hashed=("secret",),
        sealed=("secret",),
    ),
    RecordedTable.ENROLMENTS: _Recording(
        EnrolmentRow, ("run_id", "person_id", "role", "section", "joined_at", "left_at")
    ),
    RecordedTable.TOKENS: _Recording(
        TokenRow,
        ("person_id", "run_id", "maker_id", "scopes", "by", "made_at", "expires_at", "revoked_at"),
        hashed=("digest", "hint", "label"),
    ),
    RecordedTable.RUBRIC_TEXTS: _Recording(RubricTextRow, (), hashed=("text",), key=("version",)),
    RecordedTable.PUBLICATIONS: _Recording(
        PublicationRow,
        ("run_id", "assignment", "number", "opens_at", "due_at", "by", "published_at"),
        hashed=("form", "note"),
    ),
    RecordedTable.PUBLICATION_PARTS: _Recording(
        PublicationPartRow, ("position", "version"), key=("publication_id", "question")
    ),
    RecordedTable.EXTENSIONS: _Recording(
        ExtensionRow,
        ("run_id", "enrolment_id", "assignment", "number", "due_at", "extra_attempts", "by", "at"),
        hashed=("reason",),
    ),
    RecordedTable.REVIEWS: _Recording(
        ReviewRow,
        ("run_id", "attempt_id", "criterion", "number", "items", "points", "by", "at"),
        hashed=("comment",),
    ),
    RecordedTable.OVERRIDES: _Recording(OverrideRow, (*_SCORE, "by", "at"), hashed=("reason",)),
    RecordedTable.EXTERNAL_SCORES: _Recording(ExternalScoreRow, (*_SCORE, "source", "by", "at")),
    RecordedTable.REGRADES: _Recording(
        RegradeRow,
        (
            "run_id",
            "assignment",
            "number",
            "publication_id",
            "questions",
            "judges_all",
            "never_lower",
            "state",
            "by",
            "made_at",
            "ready_at",
            "decided_by",
            "decided_at",
            "undone_by",
            "undone_at",
        ),
        hashed=("reason", "undo_reason"),
    ),
    RecordedTable.SIGNING_KEYS: _Recording(
        SigningKeyRow, ("made_at",), hashed=("private",), sealed=("private",)
    ),
    RecordedTable.JUDGEMENTS: _Recording(
        JudgementRow,
        ("attempt_id", "number", "judged_at"),
        hashed=("verdicts", "misconceptions"),
        is_complete=False,
    ),
}


class RowFacts(NamedTuple):
    """The facts of one row: its key, and its values in the order of `list_fact_columns`."""

    key: str
    values: tuple[Any, ...]


def list_fact_columns(table: RecordedTable) -> tuple[str, ...]:
    """The columns of a table that are recorded."""
    return _RECORDINGS[table].columns


def is_hashed(table: RecordedTable, column: str) -> bool:
    """Whether the facts have a hash of this column."""
    return column in _RECORDINGS[table].hashed


def is_recorded_completely(table: RecordedTable) -> bool:
    """Whether an entry must speak of every row of a table."""
    return _RECORDINGS[table].is_complete


def stream_facts(
    session: Session, table: RecordedTable, *, ids: Iterable[str] | None = None
) -> Iterator[RowFacts | UnreadableRow]:
    """The facts of the rows of a table, or of those with some ids, by key.

    A row with a sealed secret that cannot be opened is unreadable.
    """
    recording, sealing_keys = _RECORDINGS[table], get_sealing_keys(session)
    row, count = recording.row, len(recording.key)
    columns = [getattr(row, name) for name in (*recording.key, *recording.columns)]
    statement = select(*to_raw_columns(columns)).select_from(row).order_by(*columns[:count])
    if ids is not None:
        keys = make_key_table(get_dialect(session), recording.key[0])
        wanted = bind_keys((each,) for each in ids)
        statement = statement.join(keys, match_keys(keys, row)).params(wanted)

    def make(values: list[Any]) -> RowFacts:
        key = "/".join(values[:count])
        facts = dict(zip(recording.columns, values[count:], strict=True))
        for name in recording.sealed:
            facts[name] = _open(sealing_keys, facts[name], place=name_place(table, key, name))
        return RowFacts(
            key,
            tuple(
                _hash(name_place(table, key, name), value)
                if name in recording.hashed
                else _to_plain(value)
                for name, value in facts.items()
            ),
        )

    return stream_rows(session, statement, columns, make)


def _open(sealing_keys: SealingKeys, stored: bytes, *, place: str) -> bytes:
    try:
        return sealing_keys.open(stored, place=place)
    except SealedSecret as error:
        # What `stream_rows` reports as a row that cannot be read.
        raise ValueError(error.message) from error


def _to_plain(value: Any) -> Any:
    """A value as JSON has it, the same from both databases."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case Decimal():
            return f"{value:f}"
        case _:
            return value


def _hash(place: str, value: Any) -> str | None:
    """A hash of a value at its place, of half the length: nobody gains by two that collide."""
    if value is None:
        return None
    content = value if isinstance(value, bytes) else _write(value)
    return hashlib.sha256(place.encode() + b"\n" + content).hexdigest()[:32]


def _write(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else orjson.dumps(value)


def write_changed_facts(session: Session, changed: ChangedRows) -> Iterator[str]:
    """The facts of changed rows as JSON, as many rows at a time as fit into one entry."""
    return _write_pages(
        (table, line)
        for table, ids in changed.items()
        for line in stream_facts(session, table, ids=ids)
    )


def write_all_facts(session: Session) -> Iterator[str]:
    """The same of all rows; those that cannot be read are left out."""
    return _write_pages(
        (table, line) for table in RecordedTable for line in stream_facts(session, table)
    )


def _write_pages(lines: Iterable[tuple[RecordedTable, RowFacts | UnreadableRow]]) -> Iterator[str]:
    page: dict[RecordedTable, list[RowFacts]] = {}
    count = 0
    for table, line in lines:
        if isinstance(line, UnreadableRow):
            continue
        page.setdefault(table, []).append(line)
        count += 1
        if count == ROWS_PER_ENTRY:
            yield _write_page(page)
            page, count = {}, 0
    if page:
        yield _write_page(page)


def _write_page(page: Mapping[RecordedTable, list[RowFacts]]) -> str:
    # The names of the columns come once for all rows, which halves what a roster takes.
    data = {
        table.value: {
            "columns": list_fact_columns(table),
            "rows": [(line.key, *line.values) for line in lines],
        }
        for table, lines in page.items()
    }
    return orjson.dumps(data).decode()


def read_facts(text: str) -> Iterator[tuple[RecordedTable, tuple[str, ...], RowFacts]]:
    """The facts that an entry holds: table, columns and values; ValueError if it holds none."""
    try:
        for name, recorded in orjson.loads(text).items():
            columns = tuple(recorded["columns"])
            for key, *values in recorded["rows"]:
                yield RecordedTable(name), columns, RowFacts(key, tuple(values))
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError("these are no facts") from error


def hash_facts(text: str) -> str:
    """The digest of an entry's facts, which is part of its details."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
