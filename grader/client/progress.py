"""The caller's courses and assignments, with points and attempts left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.client.layout import format_columns, format_count, format_points, format_time
from grader.client.responses import from_json


@dataclass(frozen=True, slots=True)
class Course:
    """A course run in which the caller takes part."""

    id: str
    title: str
    role: str


@dataclass(frozen=True, slots=True)
class QuestionStanding:
    """The caller's result for a question; `points` is None before the first attempt."""

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
    """An assignment with the caller's result."""

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
    """An assignment with its questions, printed as a table."""

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
        total = f"{_format_ratio(whole.points, whole.max_points)} points."
        if whole.pending:
            total += f" {format_count(whole.pending, 'point')} to be graded by a person."
        if whole.grade:
            total += f" Grade: {whole.grade}."
        table = format_columns(rows, right=frozenset({1, 3}))
        return "\n".join([f"{whole.title} ({whole.id}){due}", "", *table, "", total])


def _format_ratio(points: float | None, max_points: float) -> str:
    return f"{'–' if points is None else format_points(points)} / {format_points(max_points)}"


def read_standing(data: Any) -> AssignmentStanding:
    """Read an assignment with its questions."""
    whole = {"assignment": data, "questions": data["questions"], "json": data}
    return from_json(AssignmentStanding, whole)
