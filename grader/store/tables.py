"""The tables. What students and staff do is added and never changed; see docs/reference/store.md.

Points are whole hundredths, times are UTC, documents are JSON text. A column `by` holds who did
it: a person's id or a token's.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from grader.store.types import Document, Hundredths, Moment

Id = Annotated[str, mapped_column(String(40))]
Slug = Annotated[str, mapped_column(String(64))]
Digest = Annotated[str, mapped_column(String(80))]
Name = Annotated[str, mapped_column(String(200))]
Prose = Annotated[str, mapped_column(Text)]
Points = Annotated[Decimal, mapped_column(Hundredths)]
Data = Annotated[Any, mapped_column(Document)]
Bytes = Annotated[bytes, mapped_column(LargeBinary)]


class Table(DeclarativeBase):
    """Base of all tables; constraints have names, so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar = {datetime: Moment, Decimal: Hundredths}


# People and courses.


class Person(Table):
    """Somebody who may sign in."""

    __tablename__ = "people"

    id: Mapped[Id] = mapped_column(primary_key=True)
    login: Mapped[Name] = mapped_column(unique=True)
    name: Mapped[Name]
    email: Mapped[Name | None]
    is_operator: Mapped[bool]
    password_hash: Mapped[Name | None]
    made_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class Course(Table):
    """What is taught, year after year."""

    __tablename__ = "courses"

    id: Mapped[Slug] = mapped_column(primary_key=True)
    title: Mapped[Name]
    made_at: Mapped[datetime]


class Run(Table):
    """A course as it is taught once; every draw of it comes from its secret."""

    __tablename__ = "runs"

    id: Mapped[Slug] = mapped_column(primary_key=True)
    course_id: Mapped[Slug] = mapped_column(ForeignKey("courses.id"))
    title: Mapped[Name]
    time_zone: Mapped[Slug]
    secret: Mapped[Bytes]
    made_at: Mapped[datetime]


class Enrolment(Table):
    """A person's place in a course run; its id names the person's variants there."""

    __tablename__ = "enrolments"
    __table_args__ = (
        UniqueConstraint("run_id", "person_id"),
        # What belongs to an enrolment names the run, too, and can belong to no other.
        UniqueConstraint("run_id", "id"),
        Index(None, "person_id"),
        # A page of the roster, or of one section of it, is read in order and no further.
        Index(None, "run_id", "login"),
        Index(None, "run_id", "section", "login"),
        CheckConstraint("role IN ('student', 'assistant', 'instructor')", "role_is_known"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    person_id: Mapped[Id] = mapped_column(ForeignKey("people.id"))
    role: Mapped[Slug]
    section: Mapped[Name]
    joined_at: Mapped[datetime]
    left_at: Mapped[datetime | None]
    #: The person's, which never changes; it stands here, too, so that a run has an order.
    login: Mapped[Name] = mapped_column(server_default=text("''"))


# Ways in.


class Token(Table):
    """A token for programs: of a person, or of a service in one course run."""

    __tablename__ = "tokens"
    __table_args__ = (
        Index(None, "person_id"),
        Index(None, "run_id"),
        CheckConstraint("(person_id IS NULL) <> (run_id IS NULL)", "has_one_owner"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    digest: Mapped[Digest] = mapped_column(unique=True)
    hint: Mapped[Slug]
    label: Mapped[Name]
    person_id: Mapped[Id | None] = mapped_column(ForeignKey("people.id"))
    run_id: Mapped[Slug | None] = mapped_column(ForeignKey("runs.id"))
    scopes: Mapped[Data]
    by: Mapped[Id]
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]


class SignInLink(Table):
    """A link that signs a person in once."""

    __tablename__ = "sign_in_links"
    __table_args__ = (Index(None, "person_id"),)

    digest: Mapped[Digest] = mapped_column(primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey("people.id"))
    by: Mapped[Id]
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class BrowserSession(Table):
    """A browser that is signed in."""

    __tablename__ = "browser_sessions"
    __table_args__ = (Index(None, "person_id"),)

    digest: Mapped[Digest] = mapped_column(primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey("people.id"))
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class IdempotencyKey(Table):
    """What a request with this key was answered, so that sending it again changes nothing."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "made_at"),)

    caller: Mapped[Id] = mapped_column(primary_key=True)
    key: Mapped[Name] = mapped_column(primary_key=True)
    request_digest: Mapped[Digest]
    status: Mapped[int]
    body: Mapped[Prose]
    made_at: Mapped[datetime]


# What is set.


class RubricText(Table):
    """A rubric file's whole text, known by its hash."""

    __tablename__ = "rubric_texts"

    version: Mapped[Digest] = mapped_column(primary_key=True)
    text: Mapped[Prose]


class Publication(Table):
    """An assignment as it is in force in a course run, from this publication to the next."""

    __tablename__ = "publications"
    __table_args__ = (UniqueConstraint("run_id", "assignment", "number"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    assignment: Mapped[Slug]
    number: Mapped[int]
    form: Mapped[Prose]
    opens_at: Mapped[datetime | None]
    due_at: Mapped[datetime | None]
    note: Mapped[Prose]
    by: Mapped[Id]
    published_at: Mapped[datetime]


class PublicationPart(Table):
    """A question of a publication, by the version of its rubric."""

    __tablename__ = "publication_parts"

    publication_id: Mapped[Id] = mapped_column(ForeignKey("publications.id"), primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    position: Mapped[int]
    version: Mapped[Digest] = mapped_column(ForeignKey("rubric_texts.version"))


class _OfStudent:
    """What belongs to one student of one course run."""

    run_id: Mapped[Slug]
    enrolment_id: Mapped[Id]


def _to_enrolment() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["run_id", "enrolment_id"], ["enrolments.run_id", "enrolments.id"])


class Extension(_OfStudent, Table):
    """More time or more attempts for one student; the newest one holds."""

    __tablename__ = "extensions"
    __table_args__ = (_to_enrolment(), UniqueConstraint("enrolment_id", "assignment", "number"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug]
    number: Mapped[int]
    due_at: Mapped[datetime | None]
    extra_attempts: Mapped[int]
    reason: Mapped[Prose]
    by: Mapped[Id]
    at: Mapped[datetime]


# What students are shown and send.


class Variant(_OfStudent, Table):
    """What was drawn for a student, as it was first shown; parts that share it have one."""

    __tablename__ = "variants"
    __table_args__ = (_to_enrolment(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    question: Mapped[Name] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    drawn: Mapped[Data]
    shown_at: Mapped[datetime]


class View(_OfStudent, Table):
    """When a student first saw a question."""

    __tablename__ = "views"
    __table_args__ = (_to_enrolment(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    first_at: Mapped[datetime]


class Attempt(_OfStudent, Table):
    """An answer as it was sent, with the time at which it arrived."""

    __tablename__ = "attempts"
    __table_args__ = (
        _to_enrolment(),
        # The last word on races: no two attempts bear one number.
        UniqueConstraint("enrolment_id", "assignment", "question", "number"),
        Index(None, "run_id", "assignment", "question"),
        # What came in lately is counted without reading a single answer.
        Index("ix_attempts_lately", "run_id", "assignment", "received_at", "enrolment_id"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug]
    question: Mapped[Slug]
    number: Mapped[int]
    answer: Mapped[Data]
    answer_digest: Mapped[Digest]
    publication_id: Mapped[Id] = mapped_column(ForeignKey("publications.id"))
    uses_attempt_id: Mapped[Id | None] = mapped_column(ForeignKey("attempts.id"))
    received_at: Mapped[datetime]
    stored_at: Mapped[datetime]


class Judgement(Table):
    """How an attempt came out by one version of the rubric; the newest one holds."""

    __tablename__ = "judgements"
    __table_args__ = (UniqueConstraint("attempt_id", "number"), Index(None, "run_id"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"))
    number: Mapped[int]
    rubric_version: Mapped[Digest] = mapped_column(ForeignKey("rubric_texts.version"))
    verdicts: Mapped[Data]
    misconceptions: Mapped[Data]
    uses: Mapped[Slug | None]
    awarded: Mapped[Points]
    possible: Mapped[Points]
    pending: Mapped[Points]
    needs_person: Mapped[bool]
    receipt: Mapped[Data]
    judged_at: Mapped[datetime]


class Draft(_OfStudent, Table):
    """What a student has written and not yet sent, as it was saved last."""

    __tablename__ = "drafts"
    __table_args__ = (_to_enrolment(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    fields: Mapped[Data]
    saved_at: Mapped[datetime]


class Upload(_OfStudent, Table):
    """A PDF that a student has sent, known to answers by the digest of its content."""

    __tablename__ = "uploads"
    __table_args__ = (_to_enrolment(), UniqueConstraint("enrolment_id", "digest"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    digest: Mapped[Digest]
    name: Mapped[Name]
    size: Mapped[int]
    content: Mapped[Bytes]
    at: Mapped[datetime]


# What staff decide.


class Claim(Table):
    """Who is reviewing an attempt just now, and until when nobody else is offered it."""

    __tablename__ = "claims"
    __table_args__ = (Index(None, "run_id"),)

    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    by: Mapped[Id]
    until: Mapped[datetime]


class Review(Table):
    """A person's word on a written part of an attempt; the newest one holds."""

    __tablename__ = "reviews"
    __table_args__ = (
        UniqueConstraint("attempt_id", "criterion", "number"),
        Index(None, "run_id"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"))
    criterion: Mapped[Slug]
    number: Mapped[int]
    items: Mapped[Data]
    points: Mapped[Points]
    comment: Mapped[Prose]
    by: Mapped[Id]
    at: Mapped[datetime]


class Override(_OfStudent, Table):
    """An instructor's word on a score; the newest one holds, and one without points holds none."""

    __tablename__ = "overrides"
    __table_args__ = (
        _to_enrolment(),
        UniqueConstraint("enrolment_id", "assignment", "question", "number"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug]
    question: Mapped[Slug]
    number: Mapped[int]
    points: Mapped[Points | None]
    reason: Mapped[Prose]
    by: Mapped[Id]
    at: Mapped[datetime]


class ExternalScore(_OfStudent, Table):
    """A score from outside; the newest one holds."""

    __tablename__ = "external_scores"
    __table_args__ = (
        _to_enrolment(),
        UniqueConstraint("enrolment_id", "assignment", "question", "number"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug]
    question: Mapped[Slug]
    number: Mapped[int]
    points: Mapped[Points]
    source: Mapped[Name]
    by: Mapped[Id]
    at: Mapped[datetime]


class Grade(_OfStudent, Table):
    """What all of the above come to for one student and question.

    It is computed from them in the same transaction, and `grader verify` computes it again.
    """

    __tablename__ = "grades"
    __table_args__ = (
        _to_enrolment(),
        Index(None, "run_id", "assignment", "question", "points", "enrolment_id"),
        Index(None, "counted_attempt_id"),
        # What waits for staff is counted from the index alone.
        Index(
            "ix_grades_waiting",
            *("run_id", "assignment", "attempts", "needs_person", "pending", "enrolment_id"),
        ),
    )

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    points: Mapped[Points | None]
    possible: Mapped[Points]
    pending: Mapped[Points]
    attempts: Mapped[int]
    counted_attempt_id: Mapped[Id | None] = mapped_column(ForeignKey("attempts.id"))
    late_days: Mapped[int]
    is_overridden: Mapped[bool]
    needs_person: Mapped[bool]
    changes: Mapped[int]
    changed_at: Mapped[datetime]


class Total(_OfStudent, Table):
    """What a student's grades for an assignment come to, kept with them in one transaction."""

    __tablename__ = "totals"
    __table_args__ = (
        _to_enrolment(),
        Index(None, "run_id", "assignment", "points", "enrolment_id"),
    )

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    points: Mapped[Points]
    pending: Mapped[Points]


# What is looked for.


class IntegrityCheck(Table):
    """A search for answers that solve somebody else's variant, with how far it has come."""

    __tablename__ = "integrity_checks"
    __table_args__ = (
        Index(None, "run_id", "assignment", "started_at"),
        CheckConstraint("state IN ('running', 'finished', 'failed')", "state_is_known"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    assignment: Mapped[Slug]
    state: Mapped[Slug]
    done: Mapped[int]
    of: Mapped[int]
    pairs: Mapped[int] = mapped_column(BigInteger)
    by_accident: Mapped[int]
    error: Mapped[Prose]
    by: Mapped[Id]
    started_at: Mapped[datetime]
    #: The last sign of life: a process that dies leaves a check without one.
    seen_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class Resemblance(Table):
    """An attempt that fails its own variant and solves another student's, with its chance."""

    __tablename__ = "resemblances"
    __table_args__ = (
        ForeignKeyConstraint(["run_id", "other_id"], ["enrolments.run_id", "enrolments.id"]),
    )

    check_id: Mapped[Id] = mapped_column(ForeignKey("integrity_checks.id"), primary_key=True)
    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    other_id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug]
    other_attempt_id: Mapped[Id | None] = mapped_column(ForeignKey("attempts.id"))
    is_same: Mapped[bool]
    solves: Mapped[int]
    others: Mapped[int]
    hits: Mapped[int]
    tried: Mapped[int]


# Trust.


class AuditEntry(Table):
    """What staff and operators did, each entry bound to the one before by its hash."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "run_id"),)

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    by: Mapped[Id]
    run_id: Mapped[Slug | None] = mapped_column(ForeignKey("runs.id"))
    action: Mapped[Slug]
    subject: Mapped[Name]
    details: Mapped[Data]
    previous: Mapped[Digest]
    digest: Mapped[Digest] = mapped_column(unique=True)


class SigningKey(Table):
    """A key that receipts are signed with; the newest one signs."""

    __tablename__ = "signing_keys"

    id: Mapped[Id] = mapped_column(primary_key=True)
    private: Mapped[Bytes]
    made_at: Mapped[datetime]
