"""Where the caller stands: courses, assignments, and the questions of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.client.layout import format_columns, format_count, format_points
from grader.client.responses import format_time, parse_points, parse_time


@dataclass(frozen=True, slots=True)
class Course:
    """A course run in which the caller takes part."""

    id: str
    title: str
    role: str


@dataclass(frozen=True, slots=True)
class QuestionStanding:
    """A question as it stands for the caller; `points` is None before anything was sent."""

    id: str
    title: str
    points: float | None
    max_points: float
    pending: float
    attempts: int
    attempts_left: int
    state: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment as it stands for the caller."""

    id: str
    title: str
    points: float | None
    max_points: float
    pending: float
    grade: str | None
    due_at: datetime | None
    phase: str


@dataclass(frozen=True, slots=True, repr=False)
class AssignmentStanding:
    """An assignment with its questions; printed, it is a table."""

    assignment: Assignment
    questions: tuple[QuestionStanding, ...]
    json: Mapping[str, Any]

    def __repr__(self) -> str:
        whole = self.assignment
        due = f", due {format_time(whole.due_at)}" if whole.due_at else ""
        rows = [
            (
                each.id,
                _format_ratio(each.points, each.max_points),
                each.state.replace("_", " "),
                f"{each.attempts_left} left",
                each.title,
            )
            for each in self.questions
        ]
        pending = (
            f" {format_count(whole.pending, 'point')} for a person to give."
            if whole.pending
            else ""
        )
        grade = f" Grade: {whole.grade}." if whole.grade else ""
        return "\n".join(
            [
                f"{whole.title} ({whole.id}){due}",
                "",
                *format_columns(rows, right=frozenset({1, 3})),
                "",
                f"{_format_ratio(whole.points, whole.max_points)} points.{pending}{grade}",
            ]
        )


def _format_ratio(points: float | None, most: float) -> str:
    return f"{'–' if points is None else format_points(points)} / {format_points(most)}"


def read_course(data: Any) -> Course:
    """Read a course run as the service tells it."""
    return Course(data["id"], data["title"], data["role"])


def read_question_standing(data: Any) -> QuestionStanding:
    """Read where the caller stands with a question."""
    return QuestionStanding(
        id=data["id"],
        title=data["title"],
        points=parse_points(data["points"]),
        max_points=float(data["max_points"]),
        pending=float(data["pending"]),
        attempts=data["attempts"],
        attempts_left=data["attempts_left"],
        state=data["state"],
    )


def read_assignment(data: Any) -> Assignment:
    """Read an assignment as the service tells it."""
    return Assignment(
        id=data["id"],
        title=data["title"],
        points=parse_points(data["points"]),
        max_points=float(data["max_points"]),
        pending=float(data["pending"]),
        grade=data["grade"],
        due_at=parse_time(data["due_at"]),
        phase=data["phase"],
    )


def read_assignment_standing(data: Any) -> AssignmentStanding:
    """Read an assignment with its questions."""
    questions = tuple(read_question_standing(each) for each in data["questions"])
    return AssignmentStanding(read_assignment(data), questions, data)
