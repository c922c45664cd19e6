"""Reviews, overrides and external scores of staff, and the resulting grades."""

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
    """A reviewer's claim of an attempt, which is offered to nobody else until it expires."""

    __tablename__ = "claims"
    __table_args__ = (Index(None, "run_id"),)

    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    by: Mapped[Id]
    until: Mapped[datetime]


class ReviewRow(Base):
    """A person's grading of one criterion of an attempt; the newest one counts."""

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
    """An instructor's override of a score; the newest one counts, and null points withdraw it."""

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
    #: Out of what they were given. It is sorted last, since it was added last.
    possible: Mapped[Points | None] = mapped_column(sort_order=1)


class ExternalScoreRow(StudentMixin, Base):
    """A score entered from outside; the newest one counts."""

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
    #: Out of what they were given. It is sorted last, since it was added last.
    possible: Mapped[Points | None] = mapped_column(sort_order=1)


class GradeRow(StudentMixin, Base):
    """The grade of one student for one question, which follows from all of the above.

    It is computed in the same transaction as they are added, and `grader verify` recomputes it.
    """

    __tablename__ = "grades"
    __table_args__ = (
        make_enrolment_key(),
        Index(None, "run_id", "assignment", "question", "points", "enrolment_id"),
        Index(None, "counted_attempt_id"),
        # Grades that need staff are counted from the index alone.
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
    #: What the counted attempt earned, reviews included, before lateness and overrides; they let
    #: the next attempt be settled without reading the earlier ones. Null in grades of before.
    counted_points: Mapped[Points | None] = mapped_column(sort_order=1)
    counted_pending: Mapped[Points | None] = mapped_column(sort_order=1)
    late_days: Mapped[int]
    is_overridden: Mapped[bool]
    needs_person: Mapped[bool]
    changes: Mapped[int]
    changed_at: Mapped[datetime]


class TotalRow(StudentMixin, Base):
    """The sum of a student's grades for an assignment, updated in the same transaction."""

    __tablename__ = "totals"
    __table_args__ = (
        make_enrolment_key(),
        Index(None, "run_id", "assignment", "points", "enrolment_id"),
    )

    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug] = mapped_column(primary_key=True)
    points: Mapped[Points]
    pending: Mapped[Points]
