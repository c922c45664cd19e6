"""People, courses, course runs and enrolments."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Bytes, Id, Name, Slug


class PersonRow(Base):
    """A person who may sign in."""

    __tablename__ = "people"

    id: Mapped[Id] = mapped_column(primary_key=True)
    login: Mapped[Name] = mapped_column(unique=True)
    name: Mapped[Name]
    email: Mapped[Name | None]
    is_operator: Mapped[bool]
    password_hash: Mapped[Name | None]
    made_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class CourseRow(Base):
    """A course, which may run many times."""

    __tablename__ = "courses"

    id: Mapped[Slug] = mapped_column(primary_key=True)
    title: Mapped[Name]
    made_at: Mapped[datetime]


class RunRow(Base):
    """One run of a course; all its random draws derive from its secret."""

    __tablename__ = "runs"

    id: Mapped[Slug] = mapped_column(primary_key=True)
    course_id: Mapped[Slug] = mapped_column(ForeignKey("courses.id"))
    title: Mapped[Name]
    time_zone: Mapped[Slug]
    secret: Mapped[Bytes]
    made_at: Mapped[datetime]


class FillRow(Base):
    """A run that is being filled with made-up work; the row is deleted with the last step."""

    __tablename__ = "fills"

    run_id: Mapped[Slug] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    students: Mapped[int]
    done: Mapped[int]
    of: Mapped[int]
    #: What is made up depends on the day on which it began.
    began_at: Mapped[datetime]
    #: The last step, after which there are no others if the process has ended.
    seen_at: Mapped[datetime]


class EnrolmentRow(Base):
    """A person's membership in a course run; its id seeds the person's variants."""

    __tablename__ = "enrolments"
    __table_args__ = (
        UniqueConstraint("run_id", "person_id"),
        # Rows of an enrolment also name the run, and can belong to no other.
        UniqueConstraint("run_id", "id"),
        Index(None, "person_id"),
        # A page of the roster, or of one section, is read in order and no further.
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
    #: A copy of the person's login, which never changes, so that an index can sort a run.
    login: Mapped[Name] = mapped_column(server_default=text("''"))
