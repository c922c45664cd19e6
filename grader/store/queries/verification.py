"""Queries of `grader verify`: all rows in order, a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Integer,
    LargeBinary,
    Text,
    case,
    exists,
    func,
    literal,
    null,
    select,
    text,
    type_coerce,
    union,
    union_all,
)
from sqlalchemy.orm import aliased

from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, StudentQuestion
from grader.store.queries.audit import FACTS_DIGEST, MIGRATION, STATE_RECORDED, AuditLine
from grader.store.queries.publications import PublicationLine
from grader.store.rows import (
    ROWS_PER_FETCH,
    UnreadableRow,
    get_table,
    list_columns,
    stream_rows,
    to_raw_columns,
)
from grader.store.tables.attempts import (
    AttemptRow,
    DraftRow,
    JudgementRow,
    UploadRow,
    VariantRow,
    ViewRow,
)
from grader.store.tables.audit_keys import AuditEntryRow
from grader.store.tables.credentials import (
    BrowserSessionRow,
    FailedSignInRow,
    IdempotencyKeyRow,
    IdempotentResponseRow,
    SignInLinkRow,
    TokenRow,
)
from grader.store.tables.decisions import (
    ClaimRow,
    ExternalScoreRow,
    GradeRow,
    OverrideRow,
    ReviewRow,
    TotalRow,
)
from grader.store.tables.integrity import IntegrityCheckRow, ResemblanceRow
from grader.store.tables.jobs import JobPieceRow, JobRow
from grader.store.tables.people import EnrolmentRow, FillRow, PersonRow
from grader.store.tables.publications import (
    ExtensionRow,
    PublicationPartRow,
    PublicationRow,
    RubricTextRow,
)
from grader.store.tables.regrades import LeftOutRow, RegradedGradeRow, RegradeRow

# An entry may hold the facts of a thousand rows, and a file has up to ten megabytes.
_ENTRIES_PER_FETCH = 20
_FILES_PER_FETCH = 2

_ATTEMPT = list_columns(AttemptRow, AttemptLine)
_JUDGEMENT = list_columns(JudgementRow, JudgementLine)
_PUBLICATION = list_columns(PublicationRow, PublicationLine)
_AUDIT = list_columns(AuditEntryRow, AuditLine)


# Attempts and judgements


@dataclass(frozen=True, slots=True)
class UsedAttempt:
    """The earlier attempt that another one builds on."""

    enrolment_id: str
    assignment: str
    question: str
    answer_digest: str


_earlier = aliased(AttemptRow)
_USED = list_columns(_earlier, UsedAttempt)


def _to_used(values: list[Any]) -> UsedAttempt | None:
    return UsedAttempt(*values) if values[0] is not None else None


def stream_attempts(
    session: Session,
) -> Iterator[tuple[AttemptLine, UsedAttempt | None] | UnreadableRow]:
    """All attempts, by student and question, in the order of their numbers."""
    columns, count = (*_ATTEMPT, *_USED), len(_ATTEMPT)
    statement = (
        select(*to_raw_columns(columns))
        .join(_earlier, _earlier.id == AttemptRow.uses_attempt_id, isouter=True)
        .order_by(
            AttemptRow.enrolment_id, AttemptRow.assignment, AttemptRow.question, AttemptRow.number
        )
    )

    def make(values: list[Any]) -> tuple[AttemptLine, UsedAttempt | None]:
        return AttemptLine(*values[:count]), _to_used(values[count:])

    return stream_rows(session, statement, columns, make)


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A judgement with data of its attempt; None if the attempt has no judgement.

    `published_version` is the rubric version of the publication that judged: the one in force when
    the attempt was made, or that of the regrade. `documents` are the verdicts and misconceptions as
    their columns have them.
    """

    attempt_id: str
    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    answer_digest: str
    received_at: datetime
    number: int
    publication_id: str
    uses_attempt_id: str | None
    repeats_attempt_id: str | None
    stored_at: datetime
    published_version: str | None
    used: UsedAttempt | None
    judgement_run_id: str | None
    documents: tuple[str, str] | None
    judgement: JudgementLine | None


_OF_ATTEMPT = (
    AttemptRow.id,
    AttemptRow.run_id,
    AttemptRow.enrolment_id,
    AttemptRow.assignment,
    AttemptRow.question,
    AttemptRow.answer_digest,
    AttemptRow.received_at,
    AttemptRow.number,
    AttemptRow.publication_id,
    AttemptRow.uses_attempt_id,
    AttemptRow.repeats_attempt_id,
    AttemptRow.stored_at,
    select(PublicationPartRow.version)
    .where(
        PublicationPartRow.publication_id
        == func.coalesce(RegradeRow.publication_id, AttemptRow.publication_id),
        PublicationPartRow.question == AttemptRow.question,
    )
    .scalar_subquery(),
)


_DOCUMENTS = tuple(
    type_coerce(each, Text) for each in (JudgementRow.verdicts, JudgementRow.misconceptions)
)


def stream_judgements(session: Session) -> Iterator[JudgedLine | UnreadableRow]:
    """All judgements, by attempt and number; also attempts without any."""
    columns = (*_OF_ATTEMPT, *_USED, JudgementRow.run_id, *_DOCUMENTS, *_JUDGEMENT)
    statement = (
        select(*to_raw_columns(columns))
        .select_from(AttemptRow)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id, isouter=True)
        .join(RegradeRow, RegradeRow.id == JudgementRow.regrade_id, isouter=True)
        .join(_earlier, _earlier.id == AttemptRow.uses_attempt_id, isouter=True)
        .order_by(AttemptRow.id, JudgementRow.number)
    )
    return stream_rows(session, statement, columns, _to_judged_line)


def _to_judged_line(values: list[Any]) -> JudgedLine:
    of_attempt, rest = values[: len(_OF_ATTEMPT)], values[len(_OF_ATTEMPT) :]
    used, (run_id, verdicts, misconceptions, *judgement) = rest[: len(_USED)], rest[len(_USED) :]
    has_judgement = judgement[0] is not None
    documents = (verdicts, misconceptions) if has_judgement else None
    line = JudgementLine(*judgement) if has_judgement else None
    facts: list[Any] = [*of_attempt, _to_used(used), run_id, documents, line]
    return JudgedLine(*facts)


def stream_orphans(session: Session) -> Iterator[tuple[str, str]]:
    """The ids of judgements and reviews without their attempt, each with the attempt's id."""
    for table in (JudgementRow, ReviewRow):
        has_attempt = exists().where(AttemptRow.id == table.attempt_id)
        statement = select(table.id, table.attempt_id).where(~has_attempt).order_by(table.id)
        for row in session.execute(statement.execution_options(yield_per=ROWS_PER_FETCH)):
            yield row[0], row[1]


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """An attempt with all its judgements, oldest first."""

    attempt: AttemptLine
    judgements: list[JudgementLine]


def find_stored_attempts(
    session: Session, *, ids: Iterable[str]
) -> dict[str, StoredAttempt | UnreadableRow]:
    """Attempts by id; missing ones are left out."""
    columns, count = (*_ATTEMPT, *_JUDGEMENT), len(_ATTEMPT)
    statement = (
        select(*to_raw_columns(columns))
        .select_from(AttemptRow)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id, isouter=True)
        .where(AttemptRow.id.in_(sorted(set(ids))))
        .order_by(AttemptRow.id, JudgementRow.number)
    )

    def make(values: list[Any]) -> tuple[AttemptLine, JudgementLine | None]:
        attempt, judgement = values[:count], values[count:]
        line = JudgementLine(*judgement) if judgement[0] is not None else None
        return AttemptLine(*attempt), line

    found: dict[str, StoredAttempt | UnreadableRow] = {}
    for row in stream_rows(session, statement, columns, make):
        if isinstance(row, UnreadableRow):
            found[row.id] = row
            continue
        attempt, judgement = row
        stored = found.setdefault(attempt.id, StoredAttempt(attempt, []))
        if judgement is not None and isinstance(stored, StoredAttempt):
            stored.judgements.append(judgement)
    return found


def find_attempt_ids(session: Session, *, ids: Iterable[str]) -> set[str]:
    """The ids among these that belong to attempts."""
    statement = select(AttemptRow.id).where(AttemptRow.id.in_(sorted(set(ids))))
    return set(session.scalars(statement))


def stream_attempt_ids(session: Session) -> Iterator[str]:
    """The ids of all attempts, in order."""
    statement = select(AttemptRow.id).order_by(AttemptRow.id)
    for row in session.execute(statement.execution_options(yield_per=5000)):
        yield row[0]


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """An uploaded file with its content."""

    id: str
    enrolment_id: str
    digest: str
    size: int
    content: bytes


_UPLOAD = list_columns(UploadRow, StoredUpload)


def stream_uploads(session: Session) -> Iterator[StoredUpload | UnreadableRow]:
    """All uploaded files, by student."""
    statement = select(*to_raw_columns(_UPLOAD)).order_by(UploadRow.enrolment_id, UploadRow.id)
    return stream_rows(
        session,
        statement,
        _UPLOAD,
        lambda values: StoredUpload(*values),
        rows_per_fetch=_FILES_PER_FETCH,
    )


# Publications


def list_all_publications(session: Session) -> list[PublicationLine | UnreadableRow]:
    """All publications of all course runs, newest of each assignment last."""
    statement = select(*to_raw_columns(_PUBLICATION)).order_by(
        PublicationRow.run_id, PublicationRow.assignment, PublicationRow.number
    )
    lines = stream_rows(session, statement, _PUBLICATION, lambda values: PublicationLine(*values))
    return list(lines)


@dataclass(frozen=True, slots=True)
class LargestExtension:
    """The latest due date and most extra attempts that a student ever had in an assignment."""

    due_at: datetime | None
    extra_attempts: int


_NO_EXTENSION = LargestExtension(None, 0)


def list_largest_extensions(session: Session) -> dict[tuple[str, str], LargestExtension]:
    """The largest extensions ever given, by enrolment and assignment.

    Withdrawn extensions count, because attempts may have been made before the withdrawal.
    """
    columns = (
        ExtensionRow.id,
        ExtensionRow.enrolment_id,
        ExtensionRow.assignment,
        ExtensionRow.due_at,
        ExtensionRow.extra_attempts,
    )
    statement = select(*to_raw_columns(columns)).order_by(ExtensionRow.id)
    largest: dict[tuple[str, str], LargestExtension] = {}
    for values in stream_rows(session, statement, columns, list):
        if isinstance(values, UnreadableRow):
            # The check of the state reports it.
            continue
        _, enrolment_id, assignment, due_at, extra = values
        before = largest.get((enrolment_id, assignment), _NO_EXTENSION)
        dates = [each for each in (before.due_at, due_at) if each is not None]
        largest[enrolment_id, assignment] = LargestExtension(
            max(dates, default=None), max(before.extra_attempts, extra)
        )
    return largest


def stream_rubric_texts(session: Session) -> Iterator[tuple[str, str] | UnreadableRow]:
    """All rubric texts, each with its version."""
    columns = (RubricTextRow.version, RubricTextRow.text)
    statement = select(*to_raw_columns(columns)).order_by(RubricTextRow.version)
    return stream_rows(session, statement, columns, lambda values: (values[0], values[1]))


# Grades, audit, requests, and the database itself


def stream_student_questions(session: Session) -> Iterator[tuple[str | None, StudentQuestion]]:
    """Every student's question with an attempt, decision or grade, and the course run."""
    tables = (AttemptRow, OverrideRow, ExternalScoreRow, GradeRow)
    keys = union(
        *(select(each.enrolment_id, each.assignment, each.question) for each in tables)
    ).subquery()
    key = (keys.c.enrolment_id, keys.c.assignment, keys.c.question)
    statement = (
        select(EnrolmentRow.run_id, *key)
        .select_from(keys)
        .join(EnrolmentRow, EnrolmentRow.id == keys.c.enrolment_id, isouter=True)
        .order_by(EnrolmentRow.run_id, *key)
    )
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield row[0], (row[1], row[2], row[3])


def stream_audit_chain(session: Session) -> Iterator[AuditLine | UnreadableRow]:
    """All entries of the audit chain in order."""
    statement = select(*to_raw_columns(_AUDIT)).order_by(AuditEntryRow.number)
    return stream_rows(session, statement, _AUDIT, lambda values: AuditLine(*values))


@dataclass(frozen=True, slots=True)
class FactsEntry:
    """An entry of the chain that holds facts, or should: its digest says so."""

    number: int
    at: datetime
    is_of_before: bool
    """Whether it records rows that are older than the facts in the chain."""
    digest: object
    facts: str | None


def stream_recorded_facts(session: Session) -> Iterator[FactsEntry | UnreadableRow]:
    """All entries of the audit chain with facts, in order."""
    columns = (
        AuditEntryRow.number,
        AuditEntryRow.at,
        AuditEntryRow.by,
        AuditEntryRow.action,
        AuditEntryRow.details,
        AuditEntryRow.facts,
    )
    statement = select(*to_raw_columns(columns)).order_by(AuditEntryRow.number)

    def make(values: list[Any]) -> FactsEntry:
        number, at, by, action, details, facts = values
        digest = details.get(FACTS_DIGEST) if isinstance(details, dict) else None
        is_of_before = (by, action) == (MIGRATION, STATE_RECORDED)
        return FactsEntry(number, at, is_of_before, digest, facts)

    for entry in stream_rows(session, statement, columns, make, rows_per_fetch=_ENTRIES_PER_FETCH):
        if isinstance(entry, UnreadableRow) or (entry.digest, entry.facts) != (None, None):
            yield entry


class StoredResponse(NamedTuple):
    """An idempotency key with the digest and the body of its response; None if that is gone."""

    key: str
    digest: str
    body: str | None


def stream_answered_requests(session: Session) -> Iterator[StoredResponse | UnreadableRow]:
    """All idempotency keys with their responses."""
    columns = (
        IdempotencyKeyRow.key, IdempotencyKeyRow.body_digest, IdempotentResponseRow.body,
    )  # fmt: skip
    statement = (
        select(*to_raw_columns(columns))
        .outerjoin(
            IdempotentResponseRow, IdempotentResponseRow.digest == IdempotencyKeyRow.body_digest
        )
        .order_by(IdempotencyKeyRow.caller, IdempotencyKeyRow.key)
    )
    return stream_rows(session, statement, columns, lambda values: StoredResponse(*values))


def count_rows(session: Session) -> dict[str, int]:
    """Count the rows of the tables that a verification reads, by table, to report its progress."""
    tables = (
        AttemptRow, JudgementRow, RubricTextRow, PublicationRow, GradeRow, TotalRow, AuditEntryRow,
        IdempotencyKeyRow,
    )  # fmt: skip
    return {
        each.__tablename__: session.scalar(select(func.count()).select_from(each)) or 0
        for each in tables
    }


#: Tables that no other check reads whole.
_OTHER_TABLES = (
    EnrolmentRow, TokenRow, UploadRow, VariantRow, ViewRow, DraftRow, ClaimRow, GradeRow, TotalRow,
    IdempotencyKeyRow, IdempotentResponseRow, SignInLinkRow, BrowserSessionRow,
    FailedSignInRow, FillRow, IntegrityCheckRow, ResemblanceRow, RegradedGradeRow, LeftOutRow,
    JobRow, JobPieceRow,
)  # fmt: skip


def stream_other_rows(session: Session) -> Iterator[tuple[str, UnreadableRow | None]]:
    """The rows that no other check reads whole: the table, and the row if it is unreadable."""
    for row in _OTHER_TABLES:
        table = get_table(row)
        # Bytes can always be read.
        columns = (
            *table.primary_key,
            *(
                each
                for each in table.c
                if not each.primary_key and not isinstance(each.type, LargeBinary)
            ),
        )
        statement = select(*to_raw_columns(columns)).order_by(*table.primary_key)
        for line in stream_rows(session, statement, columns, lambda _: None):
            yield table.name, line


def list_self_checks(session: Session) -> tuple[str, ...]:
    """The names of the database's own checks; none on PostgreSQL, which checks on every read."""
    if session.connection().dialect.name != "sqlite":
        return ()
    return "integrity_check", "foreign_key_check"


def run_self_check(session: Session, self_check: str) -> Iterator[tuple[str, str]]:
    """Run one of the database's own checks; yields the place and description of each error."""
    for row in session.execute(text(f"PRAGMA {self_check}")):
        if len(row) > 1:
            yield f"{row[0]} row {row[1]}", f"It refers to a missing row of {row[2]}."
        elif row[0] != "ok":
            yield "file", f"{row[0]}."


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """A student's stored total beside the sum of the grades, in hundredths; None if missing."""

    enrolment_id: str
    assignment: str
    run_id: str | None
    points: int | None
    pending: int | None
    graded_run_id: str | None
    graded_points: int | None
    graded_pending: int | None


def stream_totals(session: Session) -> Iterator[StoredTotal]:
    """All stored totals beside the sums of the grades, by student and assignment."""
    # SQLite stores any value in any column, and its `sum` counts text as zero.
    points, pending = (type_coerce(each, Integer) for each in (TotalRow.points, TotalRow.pending))
    stored = select(
        TotalRow.enrolment_id, TotalRow.assignment, literal(1).label("is_stored"),
        TotalRow.run_id.label("run_id"), points.label("points"), pending.label("pending"),
    )  # fmt: skip
    graded = select(
        GradeRow.enrolment_id,
        GradeRow.assignment,
        literal(0),
        func.max(GradeRow.run_id),
        func.coalesce(func.sum(type_coerce(GradeRow.points, Integer)), 0),
        func.sum(type_coerce(GradeRow.pending, Integer)),
    ).group_by(GradeRow.enrolment_id, GradeRow.assignment)
    both = union_all(stored, graded).subquery()
    columns: list[Any] = [
        func.max(case((both.c.is_stored == flag, each), else_=null()))
        for flag in (1, 0)
        for each in (both.c.run_id, both.c.points, both.c.pending)
    ]
    owner = (both.c.enrolment_id, both.c.assignment)
    statement = select(*owner, *columns).group_by(*owner).order_by(*owner)
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield StoredTotal(*row)


def stream_login_mismatches(session: Session) -> Iterator[tuple[str, str, str]]:
    """Enrolments whose login differs from the person's: id, stored login, correct login."""
    statement = (
        select(EnrolmentRow.id, EnrolmentRow.login, PersonRow.login)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(EnrolmentRow.login != PersonRow.login)
        .order_by(EnrolmentRow.id)
    )
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield row[0], row[1], row[2]
