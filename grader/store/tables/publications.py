"""Rubric texts, publications of assignments, and extensions."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Digest, Id, Prose, Slug, StudentMixin, make_enrolment_key


class RubricTextRow(Base):
    """The text of a rubric file, by its hash."""

    __tablename__ = "rubric_texts"

    version: Mapped[Digest] = mapped_column(primary_key=True)
    text: Mapped[Prose]


class PublicationRow(Base):
    """A publication of an assignment in a course run, in force until the next one."""

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


class PublicationPartRow(Base):
    """A question of a publication, with its rubric version."""

    __tablename__ = "publication_parts"

    publication_id: Mapped[Id] = mapped_column(ForeignKey("publications.id"), primary_key=True)
    question: Mapped[Slug] = mapped_column(primary_key=True)
    position: Mapped[int]
    version: Mapped[Digest] = mapped_column(ForeignKey("rubric_texts.version"))


class ExtensionRow(StudentMixin, Base):
    """More time or more attempts for one student; the newest one counts."""

    __tablename__ = "extensions"
    __table_args__ = (
        make_enrolment_key(),
        UniqueConstraint("enrolment_id", "assignment", "number"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    assignment: Mapped[Slug]
    number: Mapped[int]
    due_at: Mapped[datetime | None]
    extra_attempts: Mapped[int]
    reason: Mapped[Prose]
    by: Mapped[Id]
    at: Mapped[datetime]
