"""Variants, views, attempts, judgements, drafts and uploads."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import (
    Base,
    Bytes,
    Data,
    Digest,
    Id,
    Name,
    Points,
    Slug,
    StudentMixin,
    make_enrolment_key,
)

_PART = ("enrolment_id", "assignment", "question")


class VariantRow(StudentMixin, Base):
    """A student's draws for a question, as first shown; questions that share draws share a row."""

    __tablename__ = "variants"
    __table_args__ = (make_enrolment_key(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    question: Mapped[Name] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    drawn: Mapped[Data]
    shown_at: Mapped[datetime]


class ViewRow(StudentMixin, Base):
    """When a student first saw a question."""

    __tablename__ = "views"
    __table_args__ = (make_enrolment_key(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    first_at: Mapped[datetime]


class AttemptRow(StudentMixin, Base):
    """An answer as sent, with the time of its arrival."""

    __tablename__ = "attempts"
    __table_args__ = (
        make_enrolment_key(),
        # Decides races: no two attempts have the same number.
        UniqueConstraint(*_PART, "number"),
        Index(None, "run_id", "assignment", "question"),
        # Whether an answer was sent before is found without reading the others.
        Index("ix_attempts_same_answer", *_PART, "answer_digest"),
        # Recent attempts are counted from the index, without reading answers.
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
    #: The attempt with the same answer that a changed rubric judged again here, for free. It is
    #: unique, since only the first repeat is free, and sorted last, since it was added last.
    repeats_attempt_id: Mapped[Id | None] = mapped_column(
        ForeignKey("attempts.id"), unique=True, sort_order=1
    )


class JudgementRow(Base):
    """The result of an attempt by one version of the rubric.

    The newest one counts, except for those of regrades that are not applied.
    """

    __tablename__ = "judgements"
    __table_args__ = (
        UniqueConstraint("attempt_id", "number"),
        # Nearly all judgements are of no regrade.
        Index(
            None,
            "regrade_id",
            sqlite_where=text("regrade_id IS NOT NULL"),
            postgresql_where=text("regrade_id IS NOT NULL"),
        ),
    )

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
    #: The regrade by which it counts; None for the first one of an attempt.
    regrade_id: Mapped[Id | None] = mapped_column(ForeignKey("regrades.id"), sort_order=1)


class DraftRow(StudentMixin, Base):
    """A student's unsent answer, as last saved."""

    __tablename__ = "drafts"
    __table_args__ = (make_enrolment_key(),)

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    fields: Mapped[Data]
    saved_at: Mapped[datetime]


class UploadRow(StudentMixin, Base):
    """A student's PDF; answers refer to it by the digest of its content."""

    __tablename__ = "uploads"
    __table_args__ = (make_enrolment_key(), UniqueConstraint("enrolment_id", "digest"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    digest: Mapped[Digest]
    name: Mapped[Name]
    size: Mapped[int]
    content: Mapped[Bytes]
    at: Mapped[datetime]
