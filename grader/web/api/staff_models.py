"""What the API answers staff with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from grader.feedback.parts import Part, Points


class GradeCell(Part):
    """Where a student stands with a question."""

    points: Points | None
    pending: Points
    attempts: int
    days_late: int
    is_overridden: bool
    needs_person: bool
    counted_attempt: str | None


class GradeRow(Part):
    """A student's line of the gradebook."""

    student: str = Field(examples=["ada"])
    name: str
    section: str
    enrolment: str
    questions: dict[str, GradeCell] = Field(description="Those at which anything was done.")
    total: Points
    pending: Points
    grade: str


class GradebookRead(Part):
    """Students × questions, a page at a time."""

    course: str
    assignment: str
    questions: dict[str, Points] = Field(description="The points of each question, in order.")
    possible: Points
    students: list[GradeRow]


class GradeEvent(Part):
    """Something that changed a grade."""

    at: datetime
    kind: str = Field(examples=["override"])
    points: Points | None
    reason: str
    by: str


class GradeRead(GradeCell):
    """A student's grade for one question, with its version and what staff decided."""

    student: str
    question: str
    max_points: Points
    version: str = Field(examples=["g3"])
    changed_at: datetime | None
    history: list[GradeEvent]


class PublicationRead(Part):
    """An assignment as it was put in force."""

    id: str
    assignment: str
    number: int
    opens_at: datetime | None
    due_at: datetime | None
    note: str
    by: str
    published_at: datetime
    versions: dict[str, str]


class ExtensionRead(Part):
    """More time or more attempts for one student."""

    id: str
    student: str
    assignment: str
    due_at: datetime | None
    extra_attempts: int
    reason: str
    by: str
    at: datetime
    is_after_publication: bool = Field(
        default=False,
        description="Bundles already show rubric and keys, so that this student could know them.",
    )


class ReviewItem(Part):
    """One thing that a reviewer looks for."""

    text: str
    points: Points


class WaitingRead(Part):
    """Something that a person decides; nobody's name is told."""

    attempt: str
    question: str
    criterion: str
    title: str
    text: str | None
    max_points: Points
    items: list[ReviewItem]
    note: str
    points: Points | None = Field(description="None while nobody has reviewed it.")
    chosen: list[int]
    comment: str
    version: str = Field(examples=["r0"])


class ReviewDone(Part):
    """A review, with what the grade is now."""

    attempt: str
    criterion: str
    points: Points
    version: str
    grade: Points | None


class AuditRead(Part):
    """Something that staff did."""

    number: int
    at: datetime
    by: str
    action: str
    subject: str
    details: dict[str, Any]
