"""What `grader verify` reads: all rows in order, a few at a time, also where one is damaged.

Every other query may trust what was written. Here a row that holds something else than its column
should is given as `Unreadable`, and the walk goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import (
    Boolean,
    Dialect,
    Integer,
    Select,
    String,
    exists,
    func,
    select,
    text,
    type_coerce,
    union,
)
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import aliased
from sqlalchemy.types import NullType

from grader.store.attempts import _ATTEMPT, _JUDGEMENT, AttemptLine, JudgementLine, Part
from grader.store.audit import _AUDIT, AuditLine
from grader.store.database import Session
from grader.store.publications import _PUBLICATION, PublicationLine
from grader.store.tables import (
    Attempt,
    AuditEntry,
    Enrolment,
    Extension,
    ExternalScore,
    Grade,
    IdempotencyKey,
    Judgement,
    Override,
    Publication,
    Review,
    RubricText,
    SigningKey,
)

#: So many rows are in memory at once; an answer may have a megabyte.
_AT_ONCE = 200

#: What a file raises that is damaged below the level of rows.
Damaged = DatabaseError


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that cannot be read; `id` says which one it is."""

    id: str


Line = TypeVar("Line")


def _walk(
    session: Session,
    statement: Select[Any],
    columns: Sequence[Any],
    make: Callable[[list[Any]], Line],
    *,
    id_at: int = 0,
) -> Iterator[Line | Unreadable]:
    """Rows as lines; `id_at` is where the column stands that names a row."""
    dialect = session.connection().dialect
    readers = [_reader(column, dialect) for column in columns]
    for row in session.execute(statement.execution_options(yield_per=_AT_ONCE)):
        try:
            line = make([read(raw) for read, raw in zip(readers, row, strict=True)])
        except (TypeError, ValueError, ArithmeticError):
            yield Unreadable(str(row[id_at]))
        else:
            yield line


def _raw(columns: Sequence[Any]) -> list[Any]:
    """Columns as the database has them; what they mean is read afterwards, row by row."""
    return [type_coerce(column, NullType()) for column in columns]


def _reader(column: Any, dialect: Dialect) -> Callable[[Any], Any]:
    kind = column.type
    process = kind.dialect_impl(dialect).result_processor(dialect, None)
    # SQLite keeps any value in any column; what is no text or number then is damaged.
    plain = {Boolean: bool, Integer: int, String: str}
    expected = next((each for base, each in plain.items() if isinstance(kind, base)), object)

    def read(raw: Any) -> Any:
        if raw is None:
            return None
        value = process(raw) if process else raw
        if not isinstance(value, expected):
            raise TypeError(f"{column} holds a {type(value).__name__}")
        return value

    return read


# Attempts and judgements


@dataclass(frozen=True, slots=True)
class Used:
    """The earlier attempt that an attempt builds on."""

    enrolment_id: str
    assignment: str
    question: str
    answer_digest: str


_used = aliased(Attempt)
_USED = (_used.enrolment_id, _used.assignment, _used.question, _used.answer_digest)


def _as_used(values: list[Any]) -> Used | None:
    return Used(*values) if values[0] is not None else None


def walk_attempts(session: Session) -> Iterator[tuple[AttemptLine, Used | None] | Unreadable]:
    """All attempts, by student and question, in the order of their numbers."""
    columns = (*_ATTEMPT, *_USED)
    statement = (
        select(*_raw(columns))
        .join(_used, _used.id == Attempt.uses_attempt_id, isouter=True)
        .order_by(Attempt.enrolment_id, Attempt.assignment, Attempt.question, Attempt.number)
    )
    count = len(_ATTEMPT)

    def make(values: list[Any]) -> tuple[AttemptLine, Used | None]:
        return AttemptLine(*values[:count]), _as_used(values[count:])

    return _walk(session, statement, columns, make)


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A judgement, or that there is none, with what its attempt says."""

    attempt_id: str
    run_id: str
    enrolment_id: str
    question: str
    answer_digest: str
    received_at: datetime
    published_version: str | None
    used: Used | None
    judgement: JudgementLine | None
    judgement_run_id: str | None


_OF_ATTEMPT = (
    Attempt.id,
    Attempt.run_id,
    Attempt.enrolment_id,
    Attempt.assignment,
    Attempt.question,
    Attempt.answer_digest,
    Attempt.received_at,
)


def walk_judgements(session: Session) -> Iterator[JudgedLine | Unreadable]:
    """All judgements by attempt, in the order of their numbers; attempts without one, too."""
    version = _published_version()
    columns = (*_OF_ATTEMPT, version, *_USED, *_JUDGEMENT, Judgement.run_id)
    statement = (
        select(*_raw(columns))
        .select_from(Attempt)
        .join(Judgement, Judgement.attempt_id == Attempt.id, isouter=True)
        .join(_used, _used.id == Attempt.uses_attempt_id, isouter=True)
        .order_by(Attempt.id, Judgement.number)
    )
    return _walk(session, statement, columns, _judged)


def _published_version() -> Any:
    """The version of the rubric that was in force for an attempt."""
    from grader.store.tables import PublicationPart

    return (
        select(PublicationPart.version)
        .where(
            PublicationPart.publication_id == Attempt.publication_id,
            PublicationPart.question == Attempt.question,
        )
        .scalar_subquery()
    )


def _judged(values: list[Any]) -> JudgedLine:
    attempt_id, run_id, enrolment_id, assignment, question, digest, at, version = values[:8]
    judgement = values[12:-1]
    return JudgedLine(
        attempt_id,
        run_id,
        enrolment_id,
        f"{assignment}/{question}",
        digest,
        at,
        version,
        _as_used(values[8:12]),
        JudgementLine(*judgement) if judgement[0] is not None else None,
        values[-1],
    )


def walk_orphans(session: Session) -> Iterator[tuple[str, str]]:
    """Judgements and reviews, by id, whose attempt is not there, with the attempt's id."""
    for table in (Judgement, Review):
        there = exists().where(Attempt.id == table.attempt_id)
        statement = select(table.id, table.attempt_id).where(~there).order_by(table.id)
        for row in session.execute(statement.execution_options(yield_per=_AT_ONCE)):
            yield row[0], row[1]


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """An attempt with all its judgements' receipts, the oldest first."""

    attempt: AttemptLine
    receipts: list[Any]


def find_stored(session: Session, *, ids: Iterable[str]) -> dict[str, StoredAttempt | Unreadable]:
    """Attempts by their ids; those that are not there are absent."""
    columns = (*_ATTEMPT, Judgement.receipt)
    statement = (
        select(*_raw(columns))
        .select_from(Attempt)
        .join(Judgement, Judgement.attempt_id == Attempt.id, isouter=True)
        .where(Attempt.id.in_(sorted(set(ids))))
        .order_by(Attempt.id, Judgement.number)
    )

    def make(values: list[Any]) -> StoredAttempt:
        return StoredAttempt(AttemptLine(*values[:-1]), [values[-1]])

    found: dict[str, StoredAttempt | Unreadable] = {}
    for line in _walk(session, statement, columns, make):
        if isinstance(line, Unreadable):
            found[line.id] = line
            continue
        before = found.setdefault(line.attempt.id, line)
        if before is not line and isinstance(before, StoredAttempt):
            before.receipts.extend(line.receipts)
    return found


def find_attempt_ids(session: Session, *, ids: Iterable[str]) -> set[str]:
    """Those of these ids that attempts have."""
    statement = select(Attempt.id).where(Attempt.id.in_(sorted(set(ids))))
    return set(session.scalars(statement))


def walk_attempt_ids(session: Session) -> Iterator[str]:
    """The ids of all attempts, in order."""
    statement = select(Attempt.id).order_by(Attempt.id)
    for row in session.execute(statement.execution_options(yield_per=5000)):
        yield row[0]


# What was in force


def list_all_publications(session: Session) -> list[PublicationLine | Unreadable]:
    """All publications of all course runs, the newest of each assignment last."""
    statement = select(*_raw(_PUBLICATION)).order_by(
        Publication.run_id, Publication.assignment, Publication.number
    )
    return list(_walk(session, statement, _PUBLICATION, lambda values: PublicationLine(*values)))


@dataclass(frozen=True, slots=True)
class Generosity:
    """The most that a student was ever given in an assignment."""

    due_at: datetime | None
    extra_attempts: int


def list_generosity(session: Session) -> dict[tuple[str, str], Generosity]:
    """The most that students were ever given, by enrolment and assignment.

    Extensions that were taken back count, because attempts may be from before that.
    """
    statement = select(
        Extension.enrolment_id,
        Extension.assignment,
        func.max(Extension.due_at),
        func.max(Extension.extra_attempts),
    ).group_by(Extension.enrolment_id, Extension.assignment)
    return {
        (row[0], row[1]): Generosity(row[2], max(row[3], 0)) for row in session.execute(statement)
    }


def walk_rubric_texts(session: Session) -> Iterator[tuple[str, str] | Unreadable]:
    """All rubric texts with the versions that they are known by."""
    columns = (RubricText.version, RubricText.text)
    statement = select(*_raw(columns)).order_by(RubricText.version)
    return _walk(session, statement, columns, lambda values: (values[0], values[1]))


def find_rubric_text(session: Session, *, version: str) -> str | None:
    """The text of a version."""
    return session.scalar(select(RubricText.text).where(RubricText.version == version))


# Grades


def walk_parts(session: Session) -> Iterator[tuple[str | None, Part]]:
    """Every student's part at which something was done or is graded, with its course run."""
    tables = (Attempt, Override, ExternalScore, Grade)
    parts = union(
        *(select(each.enrolment_id, each.assignment, each.question) for each in tables)
    ).subquery()
    statement = (
        select(Enrolment.run_id, parts.c.enrolment_id, parts.c.assignment, parts.c.question)
        .select_from(parts)
        .join(Enrolment, Enrolment.id == parts.c.enrolment_id, isouter=True)
        .order_by(
            Enrolment.run_id, parts.c.enrolment_id, parts.c.assignment, parts.c.question
        )
    )  # fmt: skip
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield row[0], (row[1], row[2], row[3])


# Audit, keys, requests, and the database itself


def walk_chain(session: Session) -> Iterator[AuditLine | Unreadable]:
    """All entries of the audit chain in order."""
    statement = select(*_raw(_AUDIT)).order_by(AuditEntry.number)
    return _walk(session, statement, _AUDIT, lambda values: AuditLine(*values))


def walk_answered(session: Session) -> Iterator[tuple[str, str, str] | Unreadable]:
    """All requests that were answered: who sent them, their key, and the body of the answer."""
    columns = (IdempotencyKey.key, IdempotencyKey.caller, IdempotencyKey.body)
    statement = select(*_raw(columns)).order_by(IdempotencyKey.caller, IdempotencyKey.key)
    return _walk(session, statement, columns, lambda values: (values[1], values[0], values[2]))


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows there are, for telling how far a verification is."""

    attempts: int
    judgements: int
    rubric_texts: int
    grades: int
    audit: int
    answered: int


def count_rows(session: Session) -> Sizes:
    """How many rows there are."""
    tables = (Attempt, Judgement, RubricText, Grade, AuditEntry, IdempotencyKey)
    counts = [session.scalar(select(func.count()).select_from(each)) or 0 for each in tables]
    return Sizes(*counts)


def list_private_keys(session: Session) -> dict[str, bytes]:
    """All signing keys by the name that they are stored under."""
    statement = select(SigningKey.id, SigningKey.private)
    return {row[0]: row[1] for row in session.execute(statement)}


def check_database(session: Session) -> Iterator[tuple[str, str]]:
    """What the database finds wrong with itself, as pairs of where and what.

    PostgreSQL finds out when it reads; SQLite is asked.
    """
    if session.connection().dialect.name != "sqlite":
        return
    for row in session.execute(text("PRAGMA integrity_check")):
        if row[0] != "ok":
            yield "integrity", str(row[0])
    for table, row_id, parent, _ in session.execute(text("PRAGMA foreign_key_check")):
        yield f"{table} row {row_id}", f"It names a row of {parent} that is not there."
