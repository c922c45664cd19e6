"""The assignment file's form: title, order of its questions, dates, policies, grade scale."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from grader.rubric.forms import Form, Identifier, Points

#: A local time as people write it; the time zone stands beside it.
LocalTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d$")]


class LatePolicy(Form):
    """What happens to what comes after the due date."""

    grace_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=60, description="So long after the due date is still in time."
    )
    per_day: Annotated[Decimal, Field(ge=0, le=1)] = Field(
        default=Decimal("0.1"), description="The share of the points that each begun day costs."
    )
    days: Annotated[int, Field(ge=0, le=365)] = Field(
        default=0, description="So many days late is still taken; 0 takes nothing late."
    )


class AttemptPolicy(Form):
    """How many attempts a question has, and which one counts."""

    most: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="How many attempts a student has at each question."
    )
    counted: Literal["best", "last", "first"] = Field(
        default="best", description="Which of the attempts counts."
    )
    feedback: Literal["full", "correctness", "after_due", "none"] = Field(
        default="full", description="How much a student is told about an attempt."
    )


class QuestionAttemptPolicy(Form):
    """What is otherwise for one question."""

    most: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many attempts a student has at this question."
    )
    counted: Literal["best", "last", "first"] | None = Field(
        default=None, description="Which of the attempts counts."
    )
    feedback: Literal["full", "correctness", "after_due", "none"] | None = Field(
        default=None, description="How much a student is told about an attempt."
    )


class AssignmentFile(Form):
    """An assignment: its questions in order, its dates and its policies.

    Dates here are defaults; a course run sets its own.
    """

    id: Identifier = Field(description="The name of the folder.")
    title: str = Field(description="What the student sees above the questions.")
    description: str = Field(default="", description="What it is about, for the student.")
    questions: tuple[Identifier, ...] = Field(
        min_length=1, description="The questions in order; each has a file of its own."
    )
    opens: LocalTime | None = Field(
        default=None, description="When students may begin; without it they always may."
    )
    due: LocalTime | None = Field(
        default=None, description="Until when answers are in time; 23:59 means the whole minute."
    )
    time_zone: str = Field(
        default="UTC", description="The time zone of both, such as Europe/Warsaw."
    )
    late: LatePolicy = Field(
        default=LatePolicy(), description="What happens to what comes after the due date."
    )
    attempts: AttemptPolicy = Field(
        default=AttemptPolicy(), description="How often students may try."
    )
    exceptions: dict[Identifier, QuestionAttemptPolicy] = Field(
        default_factory=dict,
        description="What is otherwise for single questions, such as c-ii: {most: 3}.",
    )
    grades: dict[str, str] = Field(
        default_factory=dict,
        description='From so many points on, this grade; such as 30: "3".',
    )
    lowest_grade: str = Field(default="", description="The grade below all of them.")

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError(f"{name!r} is no time zone; write one such as Europe/Warsaw")
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
                raise ValueError(f"there is an exception for {question!r}, which is no question")
        return self

    @model_validator(mode="after")
    def _thresholds_are_points(self) -> AssignmentFile:
        for threshold in self.grades:
            if not threshold.replace(".", "", 1).isdigit():
                raise ValueError(f"{threshold!r} is no number of points")
        return self

    def due_at(self) -> datetime | None:
        """The due date as an aware time; None where there is none."""
        return self._aware(self.due)

    def opens_at(self) -> datetime | None:
        """When students may begin, as an aware time; None where they always may."""
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
        """The grade for a number of points; empty where the assignment has no scale."""
        best = self.lowest_grade
        for threshold, grade in sorted(self.grades.items(), key=lambda item: Decimal(item[0])):
            if points >= Decimal(threshold):
                best = grade
        return best


__all__ = ["AssignmentFile", "AttemptPolicy", "LatePolicy", "Points", "QuestionAttemptPolicy"]
