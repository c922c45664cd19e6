"""What `grader verify` reads: everything in order, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, select, text, union
from sqlalchemy.orm import aliased

from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, Part
from grader.store.queries.audit import AuditLine
from grader.store.queries.publications import PublicationLine
from grader.store.queries.raw_rows import AT_ONCE, Unreadable, columns_of, raw, walk_rows
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
    PublicationPart,
    Review,
    RubricText,
)

_ATTEMPT = columns_of(Attempt, AttemptLine)
_JUDGEMENT = columns_of(Judgement, JudgementLine)
_PUBLICATION = columns_of(Publication, PublicationLine)
_AUDIT = columns_of(AuditEntry, AuditLine)


# Attempts and judgements


@dataclass(frozen=True, slots=True)
class Used:
    """The earlier attempt that an attempt builds on."""

    enrolment_id: str
    assignment: str
    question: str
    answer_digest: str


_earlier = aliased(Attempt)
_USED = columns_of(_earlier, Used)


def _as_used(values: list[Any]) -> Used | None:
    return Used(*values) if values[0] is not None else None


def walk_attempts(session: Session) -> Iterator[tuple[AttemptLine, Used | None] | Unreadable]:
    """All attempts, by student and question, in the order of their numbers."""
    columns, count = (*_ATTEMPT, *_USED), len(_ATTEMPT)
    statement = (
        select(*raw(columns))
        .join(_earlier, _earlier.id == Attempt.uses_attempt_id, isouter=True)
        .order_by(Attempt.enrolment_id, Attempt.assignment, Attempt.question, Attempt.number)
    )

    def make(values: list[Any]) -> tuple[AttemptLine, Used | None]:
        return AttemptLine(*values[:count]), _as_used(values[count:])

    return walk_rows(session, statement, columns, make)


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A judgement, or that there is none, with what its attempt says.

    `published_version` is the rubric that was in force when the attempt was made.
    """

    attempt_id: str
    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    answer_digest: str
    received_at: datetime
    published_version: str | None
    used: Used | None
    judgement_run_id: str | None
    judgement: JudgementLine | None


_OF_ATTEMPT = (
    Attempt.id,
    Attempt.run_id,
    Attempt.enrolment_id,
    Attempt.assignment,
    Attempt.question,
    Attempt.answer_digest,
    Attempt.received_at,
    select(PublicationPart.version)
    .where(
        PublicationPart.publication_id == Attempt.publication_id,
        PublicationPart.question == Attempt.question,
    )
    .scalar_subquery(),
)


def walk_judgements(session: Session) -> Iterator[JudgedLine | Unreadable]:
    """All judgements by attempt, in the order of their numbers; attempts without one, too."""
    columns = (*_OF_ATTEMPT, *_USED, Judgement.run_id, *_JUDGEMENT)
    statement = (
        select(*raw(columns))
        .select_from(Attempt)
        .join(Judgement, Judgement.attempt_id == Attempt.id, isouter=True)
        .join(_earlier, _earlier.id == Attempt.uses_attempt_id, isouter=True)
        .order_by(Attempt.id, Judgement.number)
    )
    return walk_rows(session, statement, columns, _judged)


def _judged(values: list[Any]) -> JudgedLine:
    of_attempt, rest = values[: len(_OF_ATTEMPT)], values[len(_OF_ATTEMPT) :]
    used, (run_id, *judgement) = rest[: len(_USED)], rest[len(_USED) :]
    line = JudgementLine(*judgement) if judgement[0] is not None else None
    facts: list[Any] = [*of_attempt, _as_used(used), run_id, line]
    return JudgedLine(*facts)


def walk_orphans(session: Session) -> Iterator[tuple[str, str]]:
    """Judgements and reviews, by id, whose attempt is not there, with the attempt's id."""
    for table in (Judgement, Review):
        there = exists().where(Attempt.id == table.attempt_id)
        statement = select(table.id, table.attempt_id).where(~there).order_by(table.id)
        for row in session.execute(statement.execution_options(yield_per=AT_ONCE)):
            yield row[0], row[1]


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """An attempt with all its judgements, the oldest first."""

    attempt: AttemptLine
    judgements: list[JudgementLine]


def find_stored(session: Session, *, ids: Iterable[str]) -> dict[str, StoredAttempt | Unreadable]:
    """Attempts by their ids; those that are not there are absent."""
    columns, count = (*_ATTEMPT, *_JUDGEMENT), len(_ATTEMPT)
    statement = (
        select(*raw(columns))
        .select_from(Attempt)
        .join(Judgement, Judgement.attempt_id == Attempt.id, isouter=True)
        .where(Attempt.id.in_(sorted(set(ids))))
        .order_by(Attempt.id, Judgement.number)
    )

    def make(values: list[Any]) -> StoredAttempt:
        judgement = values[count:]
        has_one = judgement[0] is not None
        return StoredAttempt(
            AttemptLine(*values[:count]), [JudgementLine(*judgement)] if has_one else []
        )

    found: dict[str, StoredAttempt | Unreadable] = {}
    for line in walk_rows(session, statement, columns, make):
        if isinstance(line, Unreadable):
            found[line.id] = line
            continue
        before = found.setdefault(line.attempt.id, line)
        if before is not line and isinstance(before, StoredAttempt):
            before.judgements.extend(line.judgements)
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
    statement = select(*raw(_PUBLICATION)).order_by(
        Publication.run_id, Publication.assignment, Publication.number
    )
    lines = walk_rows(session, statement, _PUBLICATION, lambda values: PublicationLine(*values))
    return list(lines)


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
    statement = select(*raw(columns)).order_by(RubricText.version)
    return walk_rows(session, statement, columns, lambda values: (values[0], values[1]))


# Grades, audit, requests, and the database itself


def walk_parts(session: Session) -> Iterator[tuple[str | None, Part]]:
    """Every part at which something was done or is graded, with its student's course run."""
    tables = (Attempt, Override, ExternalScore, Grade)
    parts = union(
        *(select(each.enrolment_id, each.assignment, each.question) for each in tables)
    ).subquery()
    part = (parts.c.enrolment_id, parts.c.assignment, parts.c.question)
    statement = (
        select(Enrolment.run_id, *part)
        .select_from(parts)
        .join(Enrolment, Enrolment.id == parts.c.enrolment_id, isouter=True)
        .order_by(Enrolment.run_id, *part)
    )
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield row[0], (row[1], row[2], row[3])


def walk_chain(session: Session) -> Iterator[AuditLine | Unreadable]:
    """All entries of the audit chain in order."""
    statement = select(*raw(_AUDIT)).order_by(AuditEntry.number)
    return walk_rows(session, statement, _AUDIT, lambda values: AuditLine(*values))


def walk_answered(session: Session) -> Iterator[tuple[str, str] | Unreadable]:
    """The keys of all requests that were answered, with the bodies of the answers."""
    columns = (IdempotencyKey.key, IdempotencyKey.body)
    statement = select(*raw(columns)).order_by(IdempotencyKey.caller, IdempotencyKey.key)
    return walk_rows(session, statement, columns, lambda values: (values[0], values[1]))


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows there are, for telling how far a verification is."""

    attempts: int
    judgements: int
    rubric_texts: int
    publications: int
    grades: int
    audit: int
    answered: int


def count_rows(session: Session) -> Sizes:
    """How many rows there are."""
    tables = (Attempt, Judgement, RubricText, Publication, Grade, AuditEntry, IdempotencyKey)
    counts = [session.scalar(select(func.count()).select_from(each)) or 0 for each in tables]
    return Sizes(*counts)


def list_self_checks(session: Session) -> tuple[str, ...]:
    """What the database can be asked about itself; PostgreSQL finds out whenever it reads."""
    if session.connection().dialect.name != "sqlite":
        return ()
    return "integrity_check", "foreign_key_check"


def ask_database(session: Session, self_check: str) -> Iterator[tuple[str, str]]:
    """What the database finds wrong with itself, as pairs of where and what."""
    for row in session.execute(text(f"PRAGMA {self_check}")):
        if len(row) > 1:
            yield f"{row[0]} row {row[1]}", f"It names a row of {row[2]} that is not there."
        elif row[0] != "ok":
            yield "file", f"{row[0]}."
