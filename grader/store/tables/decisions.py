"""What staff decide, and the grades that all of it comes to."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import (
    Base,
    Data,
    Id,
    Name,
    Points,
    Prose,
    Slug,
    StudentMixin,
    make_enrolment_key,
)


class ClaimRow(Base):
    """Who is reviewing an attempt just now, and until when nobody else is offered it."""

    __tablename__ = "claims"
    __table_args__ = (Index(None, "run_id"),)

    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    by: Mapped[Id]
    until: Mapped[datetime]


class ReviewRow(Base):
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


class OverrideRow(StudentMixin, Base):
    """An instructor's word on a score; the newest one holds, and one without points holds none."""

    __tablename__ = "overrides"
    __table_args__ = (
        make_enrolment_key(),
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


class ExternalScoreRow(StudentMixin, Base):
    """A score from outside; the newest one holds."""

    __tablename__ = "external_scores"
    __table_args__ = (
        make_enrolment_key(),
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


class GradeRow(StudentMixin, Base):
    """What all of the above come to for one student and question.

    It is computed from them in the same transaction, and `grader verify` computes it again.
    """

    __tablename__ = "grades"
    __table_args__ = (
        make_enrolment_key(),
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


class TotalRow(StudentMixin, Base):
    """What a student's grades for an assignment come to, kept with them in one transaction."""

    __tablename__ = "totals"
    __table_args__ = (
        make_enrolment_key(),
        Index(None, "run_id", "assignment", "points", "enrolment_id"),
    )

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    points: Mapped[Points]
    pending: Mapped[Points]
