"""A question as a notebook shows it: prompt, the student's numbers as arrays, answer fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from grader.client.layout import (
    describe_axes,
    format_columns,
    format_count,
    format_points,
    format_time,
)
from grader.client.progress import QuestionStanding
from grader.client.responses import from_json, to_arrays


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One field of an answer, and what it accepts."""

    name: str
    kind: str
    takes: str
    shape: tuple[int, ...] | None
    symbols: tuple[str, ...]
    options: tuple[str, ...]
    is_optional: bool

    @property
    def is_numeric(self) -> bool:
        """Whether the field takes numbers or a formula."""
        return self.kind in ("array", "number")


@dataclass(frozen=True, slots=True)
class CriterionInfo:
    """A criterion with its points."""

    id: str
    title: str
    points: float


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """A question with the caller's own numbers.

    `given` holds read-only arrays by name, in full precision; indices count from zero. `json` is
    the complete response of the service.
    """

    id: str
    title: str
    prompt: str
    max_points: float
    given: Mapping[str, Any]
    fields: tuple[FieldInfo, ...]
    criteria: tuple[CriterionInfo, ...]
    example: Mapping[str, Any]
    hints: tuple[str, ...]
    builds_on: str | None
    """The earlier question whose counted answer is used here."""
    due_at: datetime | None
    standing: QuestionStanding
    json: Mapping[str, Any]

    @property
    def attempts_left(self) -> int:
        """How many attempts were left when the question was fetched."""
        return self.standing.attempts_left

    @property
    def _heading(self) -> str:
        return f"{self.id} · {self.title} ({format_count(self.max_points, 'point')})"

    def __repr__(self) -> str:
        return "\n".join(
            [
                self._heading,
                "",
                self.prompt.rstrip(),
                "",
                "Given (indices count from zero):",
                *_indent_rows([(name, _describe_given(each)) for name, each in self.given.items()]),
                "",
                "Answer:",
                *_indent_rows([(each.name, _describe_field(each)) for each in self.fields]),
                "",
                "Criteria:",
                *_indent_rows([(format_points(each.points), each.title) for each in self.criteria]),
                *[f"\nHint: {hint}" for hint in self.hints],
                "",
                self._state(),
            ]
        )

    def _repr_markdown_(self) -> str:
        """The question in a notebook: Markdown, with TeX between dollar signs."""
        given = [f"`{name}`: {_describe_given(each)}" for name, each in self.given.items()]
        fields = [f"`{each.name}`: {_describe_field(each)}" for each in self.fields]
        criteria = [f"{each.title} ({format_points(each.points)})" for each in self.criteria]
        return "\n\n".join(
            [
                f"### {self._heading}",
                self.prompt.rstrip(),
                "**Given** (indices count from zero)",
                _format_list(given),
                "**Answer**",
                _format_list(fields),
                "**Criteria**",
                _format_list(criteria),
                *[f"> Hint: {hint}" for hint in self.hints],
                self._state(),
            ]
        )

    def _state(self) -> str:
        due = f" Due {format_time(self.due_at)}." if self.due_at else ""
        earlier = f" It builds on your answer to {self.builds_on}." if self.builds_on else ""
        return f"{format_count(self.attempts_left, 'attempt')} left.{due}{earlier}"


def read_question(data: Any) -> Question:
    """Read a question."""
    return from_json(
        Question,
        {
            **data,
            "given": to_arrays(data["given"]),
            "builds_on": data["uses"]["question"] if data["uses"] else None,
            "json": data,
        },
    )


def _describe_given(value: Any) -> str:
    """A number itself, an array by its shape."""
    return describe_axes(value.shape) if isinstance(value, np.ndarray) else str(value)


def _describe_field(field: FieldInfo) -> str:
    symbols = f"; symbols: {', '.join(field.symbols)}" if field.symbols else ""
    return field.takes + symbols


def _indent_rows(rows: list[tuple[str, str]]) -> list[str]:
    return format_columns([("", *row) for row in rows])


def _format_list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "(nothing)"
