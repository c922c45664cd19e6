"""Response models of the API: points are JSON numbers, times are RFC 3339 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import ConfigDict, Field

from grader.domain.jobs import JobKind, JobState
from grader.domain.policies import Feedback, Phase
from grader.domain.regrades import RegradeState
from grader.domain.roles import Role
from grader.feedback.base import Points, ReportModel
from grader.grading.attempts.open_questions import QuestionStatus
from grader.rubric.changes import RubricChange


class ApiModel(ReportModel):
    """Base of the responses: pydantic reads them from the attributes of a line or a result."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, source: object, **extra: Any) -> Self:
        """Read the fields from a source; `extra` gives those that it lacks or has differently."""
        return cls.model_validate(_Overlay(source, extra))


class _Overlay:
    """The attributes of a source, some of them replaced."""

    def __init__(self, source: object, extra: dict[str, Any]) -> None:
        self._source = source
        # An instance's own attributes come before `__getattr__`.
        self.__dict__.update(extra)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class CourseRead(ApiModel):
    """A course run, with the caller's role in it."""

    id: str = Field(examples=["attention-2026"])
    course: str = Field(examples=["attention"])
    title: str = Field(examples=["Attention and Transformers, autumn 2026"])
    time_zone: str = Field(examples=["Europe/Warsaw"])
    role: Role


class MeRead(ApiModel):
    """Who the caller is."""

    id: str = Field(examples=["per_01m7hf69fh91je9hsyaav4w9y3"])
    login: str | None = Field(examples=["ada"])
    name: str | None = Field(examples=["Ada Lovelace"])
    is_operator: bool
    scopes: list[str] = Field(examples=[["attempts:write", "course:read"]])
    courses: list[CourseRead]


class QuestionSummary(ApiModel):
    """A question with the caller's own points and attempts."""

    id: str = Field(examples=["3b"])
    title: str = Field(examples=["A query that averages two values"])
    max_points: Points
    points: Points | None = Field(description="None before the first attempt, and while withheld.")
    pending: Points = Field(description="Points to be graded by a person; 0 while withheld.")
    attempts: int = Field(description="How many are used; free ones are not.")
    attempts_left: int
    most_attempts: int
    counted_attempt: str | None
    days_late: int
    is_overridden: bool
    state: QuestionStatus


class AssignmentSummary(ApiModel):
    """An assignment with the caller's own points and dates."""

    id: str = Field(examples=["attention-exploration"])
    title: str = Field(examples=["Attention exploration"])
    description: str
    opens_at: datetime | None
    due_at: datetime | None = Field(description="The caller's own due date, extensions included.")
    closes_at: datetime | None = Field(description="No answer is accepted after this.")
    due_local: str | None = Field(
        description="The due date in the course's time zone, with its offset.",
        examples=["2026-12-01T23:59:59+01:00"],
    )
    time_zone: str
    phase: Phase
    points: Points | None
    max_points: Points
    pending: Points
    grade: str | None = Field(description="By the assignment's scale, if it has one.")


class AssignmentRead(AssignmentSummary):
    """An assignment with its questions in order."""

    questions: list[QuestionSummary]


class FieldRead(ApiModel):
    """One field of an answer: what it accepts."""

    name: str = Field(examples=["q"])
    kind: str = Field(examples=["array"])
    takes: str = Field(examples=["a vector of 16 numbers, as numbers or as a formula"])
    shape: list[int] | None
    symbols: list[str] = Field(examples=[["k_a", "k_b", "n", "d", "I"]])
    options: list[str]
    is_optional: bool


class CriterionRead(ApiModel):
    """A criterion, shown before the attempt."""

    id: str
    title: str
    points: Points


class UsesRead(ApiModel):
    """The earlier question that a question builds on."""

    question: str
    attempt: str | None = Field(
        description="The counted attempt there, if any; None while withheld."
    )


class GradeChange(ApiModel):
    """A staff decision about the caller's score, without the name of who made it."""

    at: datetime
    kind: str = Field(examples=["override"])
    points: Points | None = Field(description="None where an override was withdrawn.")
    reason: str = Field(examples=["Regraded by hand: the idea is right."])


class QuestionRead(ApiModel):
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
    example: dict[str, Any] = Field(description="An answer of the right form, usually a wrong one.")
    criteria: list[CriterionRead]
    uses: UsesRead | None
    hints: list[str] = Field(description="The hints shown so far: one more after each attempt.")
    hints_in_all: int
    practice: str | None = Field(description="The path of the practice key sets.")
    feedback: Feedback
    standing: QuestionSummary
    changes: list[GradeChange] = Field(description="Staff decisions, oldest first.")
    due_at: datetime | None
    closes_at: datetime | None
    phase: Phase


class PracticeRead(ApiModel):
    """Practice key sets, never those used for grading."""

    question: str
    count: int
    key_sets: dict[str, Any]


class TokenRead(ApiModel):
    """A token, without its secret."""

    id: str
    label: str
    hint: str = Field(description="Its last four characters.")
    scopes: list[str]
    made_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


class TokenCreated(TokenRead):
    """A new token with its secret, which is shown only once."""

    token: str


class KeyRead(ApiModel):
    """A public key, with which anyone can check receipts."""

    id: str
    public: str


class GradeCell(ApiModel):
    """A student's grade for a question."""

    points: Points | None
    max_points: Points = Field(description="Out of what the points were given.")
    pending: Points
    attempts: int = Field(description="How many are used; free ones are not.")
    days_late: int
    is_overridden: bool
    needs_person: bool
    counted_attempt: str | None


class GradebookRowRead(ApiModel):
    """A student's row of the gradebook."""

    student: str = Field(examples=["ada"])
    name: str
    section: str
    enrolment: str
    questions: dict[str, GradeCell] = Field(description="The questions that have a grade.")
    total: Points
    pending: Points
    grade: str


class GradebookRead(ApiModel):
    """Students × questions, one page at a time."""

    course: str
    assignment: str
    questions: dict[str, Points] = Field(description="The points of each question, in order.")
    possible: Points
    students: list[GradebookRowRead]


class GradeEvent(GradeChange):
    """A staff decision about a student's score."""

    by: str


class GradeRead(GradeCell):
    """A student's grade for one question, with its version and staff decisions."""

    student: str
    question: str
    version: str = Field(examples=["g3"])
    changed_at: datetime | None
    history: list[GradeEvent]


class PublicationRead(ApiModel):
    """A publication of an assignment."""

    id: str
    assignment: str
    number: int
    opens_at: datetime | None
    due_at: datetime | None
    note: str
    by: str
    published_at: datetime
    versions: dict[str, str]


class ExtensionRead(ApiModel):
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
        description="Bundles already include the rubric and keys, which the student may have seen.",
    )


class ReviewItem(ApiModel):
    """One thing that a reviewer looks for."""

    text: str
    points: Points


class ReviewTaskRead(ApiModel):
    """A criterion to be graded by a person, without the student's name."""

    attempt: str
    question: str
    criterion: str
    title: str
    text: str | None
    max_points: Points
    items: list[ReviewItem]
    note: str
    points: Points | None = Field(description="None before the first review.")
    chosen: list[int]
    comment: str
    version: str = Field(examples=["r0"])


class ReviewRead(ApiModel):
    """A review, with the grade after it."""

    attempt: str
    criterion: str
    points: Points
    version: str
    grade: Points | None


class AuditRead(ApiModel):
    """An entry of the audit chain."""

    number: int
    at: datetime
    by: str
    action: str
    subject: str
    details: dict[str, Any]


class SampledRegradeRead(ApiModel):
    """What a new version gives to some of the attempts that count, beside what they have."""

    judged: int
    up: int
    down: int
    same: int
    left_out: int


class QuestionEffectRead(ApiModel):
    """What a publication changes about a question, and whom that touches."""

    question: str
    title: str
    changes: list[RubricChange] = Field(examples=[["criteria", "words"]])
    attempts: int
    students: int
    sample: SampledRegradeRead | None = Field(
        description="None where answers are judged as before, or nobody has answered."
    )


class RegradeRead(ApiModel):
    """A regrade, and who decided what about it."""

    id: str
    assignment: str
    number: int
    publication_id: str
    questions: list[str]
    judges_all: bool
    never_lower: bool
    state: RegradeState
    by: str
    made_at: datetime
    ready_at: datetime | None
    reason: str
    decided_by: str | None
    decided_at: datetime | None
    undo_reason: str
    undone_by: str | None
    undone_at: datetime | None


class RegradesRead(ApiModel):
    """The regrades of an assignment, and where one is needed."""

    outdated: dict[str, int] = Field(
        description="By question, the attempts by an earlier version of the rubric about which "
        "nobody has decided."
    )
    regrades: list[RegradeRead]


class JobRead(ApiModel):
    """How far a job is; `done` of `total` are about its present phase."""

    id: str
    kind: JobKind
    state: JobState
    phase: str
    done: int
    total: int
    error: str
    made_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class RegradeCountsRead(ApiModel):
    """How many attempts were judged again, and how many grades differ in which way."""

    attempts: int
    left_out: int
    grades: int
    up: int
    down: int
    other: int = Field(description="Those that keep their points and differ otherwise.")
    same: int


class CriterionChangeRead(ApiModel):
    """A criterion of the attempt that counts, with its points before and after."""

    criterion: str
    before: str | None
    after: str | None


class GradeChangeRead(ApiModel):
    """A grade before and after a regrade."""

    student: str
    name: str
    question: str
    before: Points | None
    before_possible: Points
    after: Points | None
    after_possible: Points
    gain: Points
    is_overridden: bool
    criteria: list[CriterionChangeRead]


class CrossingRead(ApiModel):
    """A student whose grade by the scale changes."""

    student: str
    before: str
    after: str


class KeptOverrideRead(ApiModel):
    """An override that stays."""

    student: str
    question: str


class LeftOutRead(ApiModel):
    """An attempt that is left as it is."""

    attempt_id: str
    code: str
    text: str


class RegradePreviewRead(RegradeRead):
    """A regrade with what it changes, the grades that lose most first, a page at a time."""

    publication: int
    is_in_force: bool = Field(description="Whether its rubrics are in force, so that it may apply.")
    job: JobRead | None
    counts: RegradeCountsRead
    crossings: list[CrossingRead]
    overrides: list[KeptOverrideRead]
    left_out: list[LeftOutRead]
    changes: list[GradeChangeRead]
