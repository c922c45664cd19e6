"""What the API answers with; points are JSON numbers, times are RFC 3339 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from grader.domain.policies import Feedback, Phase
from grader.domain.roles import Role
from grader.feedback.base import Points, ReportModel
from grader.grading.attempts.open_questions import QuestionStatus


class CourseRead(ReportModel):
    """A course run, with the caller's role in it."""

    id: str = Field(examples=["attention-2026"])
    course: str = Field(examples=["attention"])
    title: str = Field(examples=["Attention and Transformers, autumn 2026"])
    time_zone: str = Field(examples=["Europe/Warsaw"])
    role: Role


class MeRead(ReportModel):
    """Who the caller is."""

    id: str = Field(examples=["per_01m7hf69fh91je9hsyaav4w9y3"])
    login: str | None = Field(examples=["ada"])
    name: str | None = Field(examples=["Ada Lovelace"])
    is_operator: bool
    scopes: list[str] = Field(examples=[["attempts:write", "course:read"]])
    courses: list[CourseRead]


class QuestionSummary(ReportModel):
    """A question as it stands for the caller."""

    id: str = Field(examples=["3b"])
    title: str = Field(examples=["A query that averages two values"])
    max_points: Points
    points: Points | None = Field(description="None before anything was sent, or while withheld.")
    pending: Points = Field(description="What still waits for a person; 0 while withheld.")
    attempts: int
    attempts_left: int
    most_attempts: int
    counted_attempt: str | None
    days_late: int
    is_overridden: bool
    state: QuestionStatus


class AssignmentSummary(ReportModel):
    """An assignment as it stands for the caller."""

    id: str = Field(examples=["attention-exploration"])
    title: str = Field(examples=["Attention exploration"])
    description: str
    opens_at: datetime | None
    due_at: datetime | None = Field(description="The caller's own, extensions included.")
    closes_at: datetime | None = Field(description="Nothing is taken after this.")
    due_local: str | None = Field(
        description="The due date in the course's time zone, with its offset.",
        examples=["2026-12-01T23:59:59+01:00"],
    )
    time_zone: str
    phase: Phase
    points: Points | None
    max_points: Points
    pending: Points
    grade: str | None = Field(description="By the assignment's scale, where it has one.")


class AssignmentRead(AssignmentSummary):
    """An assignment with its questions in order."""

    questions: list[QuestionSummary]


class FieldRead(ReportModel):
    """One field of an answer: what may be sent."""

    name: str = Field(examples=["q"])
    kind: str = Field(examples=["array"])
    takes: str = Field(examples=["a vector of 16 numbers, as numbers or as a formula"])
    shape: list[int] | None
    symbols: list[str] = Field(examples=[["k_a", "k_b", "n", "d", "I"]])
    options: list[str]
    is_optional: bool


class CriterionRead(ReportModel):
    """A criterion, known before the attempt."""

    id: str
    title: str
    points: Points


class UsesRead(ReportModel):
    """The earlier part that a question builds on."""

    question: str
    attempt: str | None = Field(
        description="The counted attempt there, if there is one; None while withheld."
    )


class GradeChange(ReportModel):
    """Something that staff decided about the caller's score; who it was is not told."""

    at: datetime
    kind: str = Field(examples=["override"])
    points: Points | None = Field(description="None where an override was taken back.")
    reason: str = Field(examples=["Looked at by hand: the idea holds."])


class QuestionRead(ReportModel):
    """A question with the caller's own numbers."""

    course: str
    assignment: str
    id: str
    title: str
    prompt: str = Field(description="Markdown with TeX between dollar signs.")
    max_points: Points
    variant: str
    given: dict[str, Any] = Field(description="Named arrays in full precision; indices from zero.")
    fields: list[FieldRead]
    example: dict[str, Any] = Field(description="An answer in the right form, hardly a right one.")
    criteria: list[CriterionRead]
    uses: UsesRead | None
    hints: list[str] = Field(description="Those that are open: one more after each attempt.")
    hints_in_all: int
    practice: str | None = Field(description="Where practice key sets are.")
    feedback: Feedback
    standing: QuestionSummary
    changes: list[GradeChange] = Field(description="What staff decided, the oldest first.")
    due_at: datetime | None
    closes_at: datetime | None
    phase: Phase


class PracticeRead(ReportModel):
    """Practice key sets: never those that decide a grade."""

    question: str
    count: int
    key_sets: dict[str, Any]


class TokenRead(ReportModel):
    """A token as its owner sees it later."""

    id: str
    label: str
    hint: str = Field(description="Its last four characters.")
    scopes: list[str]
    made_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


class TokenCreated(TokenRead):
    """A token that was just made; it is told this once."""

    token: str


class KeyRead(ReportModel):
    """A public key, with which anybody can check receipts."""

    id: str
    public: str


class GradeCell(ReportModel):
    """Where a student stands with a question."""

    points: Points | None
    pending: Points
    attempts: int
    days_late: int
    is_overridden: bool
    needs_person: bool
    counted_attempt: str | None


class GradebookRowRead(ReportModel):
    """A student's line of the gradebook."""

    student: str = Field(examples=["ada"])
    name: str
    section: str
    enrolment: str
    questions: dict[str, GradeCell] = Field(description="Those at which anything was done.")
    total: Points
    pending: Points
    grade: str


class GradebookRead(ReportModel):
    """Students × questions, a page at a time."""

    course: str
    assignment: str
    questions: dict[str, Points] = Field(description="The points of each question, in order.")
    possible: Points
    students: list[GradebookRowRead]


class GradeEvent(ReportModel):
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


class PublicationRead(ReportModel):
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


class ExtensionRead(ReportModel):
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


class ReviewItem(ReportModel):
    """One thing that a reviewer looks for."""

    text: str
    points: Points


class ReviewTaskRead(ReportModel):
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


class ReviewRead(ReportModel):
    """A review, with what the grade is now."""

    attempt: str
    criterion: str
    points: Points
    version: str
    grade: Points | None


class AuditRead(ReportModel):
    """Something that staff did."""

    number: int
    at: datetime
    by: str
    action: str
    subject: str
    details: dict[str, Any]
