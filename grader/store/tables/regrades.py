"""Regrades: attempts judged again, and what that changes about grades."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import (
    Base,
    Data,
    Id,
    Points,
    Prose,
    Slug,
    StudentMixin,
    make_enrolment_key,
)


class RegradeRow(Base):
    """Attempts at some questions, judged again by the rubrics of a publication.

    Its judgements count from when it is applied until it is undone.
    """

    __tablename__ = "regrades"
    __table_args__ = (
        UniqueConstraint("run_id", "assignment", "number"),
        CheckConstraint(
            "state IN ('judging', 'ready', 'applied', 'undone', 'discarded', 'declined')",
            "state_is_known",
        ),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"))
    assignment: Mapped[Slug]
    number: Mapped[int]
    publication_id: Mapped[Id] = mapped_column(ForeignKey("publications.id"))
    #: The questions, each with what decides about its answers in this publication.
    questions: Mapped[Data]
    #: Whether attempts are judged again that these rubrics have judged already.
    judges_all: Mapped[bool]
    never_lower: Mapped[bool]
    state: Mapped[Slug]
    by: Mapped[Id]
    made_at: Mapped[datetime]
    ready_at: Mapped[datetime | None]
    reason: Mapped[Prose]
    decided_by: Mapped[Id | None]
    decided_at: Mapped[datetime | None]
    undo_reason: Mapped[Prose]
    undone_by: Mapped[Id | None]
    undone_at: Mapped[datetime | None]


class RegradedGradeRow(StudentMixin, Base):
    """A grade that a regrade changes, as it was before and as it is after it."""

    __tablename__ = "regraded_grades"
    __table_args__ = (
        make_enrolment_key(),
        CheckConstraint("side IN ('before', 'after')", "side_is_known"),
        # The preview is read by the difference, and a student's notices by the student.
        Index(None, "regrade_id", "side", "gain", "enrolment_id"),
        Index(None, "enrolment_id"),
    )

    regrade_id: Mapped[Id] = mapped_column(ForeignKey("regrades.id"), primary_key=True)
    enrolment_id: Mapped[Id] = mapped_column(primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    side: Mapped[Slug] = mapped_column(primary_key=True)
    #: By how many points the grade rises.
    gain: Mapped[Points]
    #: The criteria that differ in the attempt that counts, with their points before and after.
    criteria: Mapped[Data]
    points: Mapped[Points | None]
    possible: Mapped[Points]
    pending: Mapped[Points]
    attempts: Mapped[int]
    counted_attempt_id: Mapped[Id | None] = mapped_column(ForeignKey("attempts.id"))
    counted_points: Mapped[Points | None]
    counted_pending: Mapped[Points | None]
    late_days: Mapped[int]
    is_overridden: Mapped[bool]
    needs_person: Mapped[bool]
    changes: Mapped[int]


class LeftOutRow(Base):
    """An attempt that a regrade leaves as it is, and why."""

    __tablename__ = "regrade_left_out"

    regrade_id: Mapped[Id] = mapped_column(ForeignKey("regrades.id"), primary_key=True)
    attempt_id: Mapped[Id] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    code: Mapped[Slug]
    text: Mapped[Prose]
