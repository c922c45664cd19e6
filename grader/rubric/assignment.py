"""The assignment file's form: title, order of its questions, dates, policies, grade scale."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from grader.domain.time_zones import is_time_zone
from grader.rubric.forms import Form, Identifier

#: A local time as people write it; the time zone is a key of its own.
LocalTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d$")]


class LatePolicy(Form):
    """How late answers are treated."""

    grace_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=60, description="Answers up to this many seconds after the due date are on time."
    )
    per_day: Annotated[Decimal, Field(ge=0, le=1)] = Field(
        default=Decimal("0.1"), description="The share of the points deducted for each day begun."
    )
    days: Annotated[int, Field(ge=0, le=365)] = Field(
        default=0, description="The number of days late answers are accepted; 0 accepts none."
    )


class AttemptPolicy(Form):
    """How many attempts a question has, and which one counts."""

    most: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="The number of attempts at each question."
    )
    counted: Literal["best", "last", "first"] = Field(
        default="best", description="Which of the attempts counts."
    )
    feedback: Literal["full", "correctness", "after_due", "none"] = Field(
        default="full", description="How much feedback a student gets on an attempt."
    )


class QuestionAttemptPolicy(Form):
    """How one question differs from the others."""

    most: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="The number of attempts at this question."
    )
    counted: Literal["best", "last", "first"] | None = Field(
        default=None, description="Which of the attempts counts."
    )
    feedback: Literal["full", "correctness", "after_due", "none"] | None = Field(
        default=None, description="How much feedback a student gets on an attempt."
    )


class AssignmentFile(Form):
    """An assignment: its questions in order, its dates and its policies.

    Dates here are defaults; a course run sets its own.
    """

    id: Identifier = Field(description="The name of the folder.")
    title: str = Field(description="What the student sees above the questions.")
    description: str = Field(default="", description="A description for the student.")
    questions: tuple[Identifier, ...] = Field(
        min_length=1, description="The questions in order; each has a file of its own."
    )
    opens: LocalTime | None = Field(
        default=None, description="When students may begin; without it, at any time."
    )
    due: LocalTime | None = Field(
        default=None,
        description="The last minute in which answers are on time; 23:59 includes that minute.",
    )
    time_zone: str = Field(
        default="UTC", description="The time zone of opens and due, such as Europe/Warsaw."
    )
    late: LatePolicy = Field(default=LatePolicy(), description="How late answers are treated.")
    attempts: AttemptPolicy = Field(
        default=AttemptPolicy(), description="How often students may try."
    )
    exceptions: dict[Identifier, QuestionAttemptPolicy] = Field(
        default_factory=dict,
        description="Exceptions for single questions, such as c-ii: {most: 3}.",
    )
    grades: dict[str, str] = Field(
        default_factory=dict,
        description='Each grade by the points from which it is given, such as 30: "3".',
    )
    lowest_grade: str = Field(default="", description="The grade below the lowest of these.")

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if not is_time_zone(name):
            raise ValueError(f"{name!r} is not a time zone; write one such as Europe/Warsaw")
        return name

    @field_validator("opens", "due")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None:
            datetime.fromisoformat(text)
        return text

    @model_validator(mode="after")
    def _exceptions_are_for_questions(self) -> AssignmentFile:
        for question in self.exceptions:
            if question not in self.questions:
                raise ValueError(f"there is an exception for {question!r}, which is not a question")
        return self

    @model_validator(mode="after")
    def _thresholds_are_points(self) -> AssignmentFile:
        for threshold in self.grades:
            if not threshold.replace(".", "", 1).isdigit():
                raise ValueError(f"{threshold!r} is not a number of points")
        return self

    def due_at(self) -> datetime | None:
        """The due date as an aware time, or None."""
        return self._aware(self.due)

    def opens_at(self) -> datetime | None:
        """When students may begin, as an aware time; None if at any time."""
        return self._aware(self.opens)

    def _aware(self, text: str | None) -> datetime | None:
        if text is None:
            return None
        # "23:59" means until that minute has passed.
        end = timedelta(seconds=59) if text.endswith(":59") else timedelta(0)
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(self.time_zone)) + end

    def attempts_at(self, question: str) -> AttemptPolicy:
        """The attempt policy of one question, its exception included."""
        exception = self.exceptions.get(question)
        if exception is None:
            return self.attempts
        return self.attempts.model_copy(update=exception.model_dump(exclude_none=True))

    def grade_for(self, points: Decimal) -> str:
        """The grade for a number of points; empty if the assignment has no scale."""
        grades = {Decimal(threshold): grade for threshold, grade in self.grades.items()}
        reached = [threshold for threshold in grades if threshold <= points]
        return grades[max(reached)] if reached else self.lowest_grade
