"""Integrity checks, and the resemblances that they find."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Id, Prose, Slug


class IntegrityCheckRow(Base):
    """A search for wrong answers that solve another student's variant, with its progress."""

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
    #: The last heartbeat, which stops if the process dies.
    seen_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class ResemblanceRow(Base):
    """An attempt that fails its own variant and solves another student's, with chance counts."""

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
