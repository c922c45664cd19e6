"""Durable jobs: work in pieces, which any worker does, and another one where that has died."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Data, Id, Prose, Slug


class JobRow(Base):
    """A job, and how far it is; `total` and `done` count what its present phase is about."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("state IN ('open', 'done', 'failed', 'cancelled')", "state_is_known"),
        Index(None, "state", "made_at"),
        Index(None, "subject"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    kind: Mapped[Slug]
    run_id: Mapped[Slug | None] = mapped_column(ForeignKey("runs.id"))
    #: What it is about, such as the id of a regrade.
    subject: Mapped[Id]
    state: Mapped[Slug]
    phase: Mapped[Slug]
    #: When the pieces of the phase were looked for.
    phase_began_at: Mapped[datetime | None]
    total: Mapped[int]
    done: Mapped[int]
    error: Mapped[Prose]
    by: Mapped[Id]
    made_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class JobPieceRow(Base):
    """A piece of a job that is still to be done; it goes with the transaction that does it.

    A piece belongs to a worker until its lease ends, which the worker extends as long as it lives.
    """

    __tablename__ = "job_pieces"
    __table_args__ = (Index(None, "leased_until"),)

    job_id: Mapped[Id] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    #: What the piece is about; null for the piece that finds the others of the phase.
    content: Mapped[Data | None]
    owner: Mapped[Id | None]
    leased_until: Mapped[datetime | None]
    tries: Mapped[int]
