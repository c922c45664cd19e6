"""A question as a notebook shows it: the prompt, the own numbers as arrays, what may be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from grader.client.layout import describe_axes, format_columns, format_count, format_points
from grader.client.progress import QuestionStanding, read_question_standing
from grader.client.responses import format_time, parse_time, to_arrays


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One field of an answer: what may be sent."""

    name: str
    kind: str
    takes: str
    shape: tuple[int, ...] | None
    symbols: tuple[str, ...]
    options: tuple[str, ...]
    is_optional: bool

    @property
    def is_numeric(self) -> bool:
        """Whether it takes numbers, or a formula that gives some."""
        return self.kind in ("array", "number")


@dataclass(frozen=True, slots=True)
class CriterionInfo:
    """A criterion, known before the attempt."""

    id: str
    title: str
    points: float


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """A question with the caller's own numbers.

    `given` holds arrays by name, read-only and in full precision; indices count from zero. `json`
    is everything that the service said.
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
    """The earlier part, whose counted answer this one is tried with."""
    due_at: datetime | None
    standing: QuestionStanding
    json: Mapping[str, Any]

    @property
    def attempts_left(self) -> int:
        """How many attempts were left when the question was fetched."""
        return self.standing.attempts_left

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.id} · {self.title} ({format_count(self.max_points, 'point')})",
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
        """What a notebook shows: Markdown, with TeX between dollar signs."""
        given = [f"`{name}`: {_describe_given(each)}" for name, each in self.given.items()]
        fields = [f"`{each.name}`: {_describe_field(each)}" for each in self.fields]
        criteria = [f"{each.title} ({format_points(each.points)})" for each in self.criteria]
        return "\n\n".join(
            [
                f"### {self.id} · {self.title} ({format_count(self.max_points, 'point')})",
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
        left = self.attempts_left
        return f"{format_count(left, 'attempt')} left.{due}{earlier}"


def read_question(data: Any) -> Question:
    """Read a question as the service tells it."""
    return Question(
        id=data["id"],
        title=data["title"],
        prompt=data["prompt"],
        max_points=float(data["max_points"]),
        given=to_arrays(data["given"]),
        fields=tuple(_read_field(each) for each in data["fields"]),
        criteria=tuple(
            CriterionInfo(each["id"], each["title"], float(each["points"]))
            for each in data["criteria"]
        ),
        example=data["example"],
        hints=tuple(data["hints"]),
        builds_on=data["uses"]["question"] if data["uses"] else None,
        due_at=parse_time(data["due_at"]),
        standing=read_question_standing(data["standing"]),
        json=data,
    )


def _read_field(data: Any) -> FieldInfo:
    return FieldInfo(
        name=data["name"],
        kind=data["kind"],
        takes=data["takes"],
        shape=None if data["shape"] is None else tuple(data["shape"]),
        symbols=tuple(data["symbols"]),
        options=tuple(data["options"]),
        is_optional=data["is_optional"],
    )


def _describe_given(value: Any) -> str:
    """A given value in a few words: a number itself, an array by its shape."""
    return describe_axes(value.shape) if isinstance(value, np.ndarray) else str(value)


def _describe_field(field: FieldInfo) -> str:
    symbols = f"; symbols: {', '.join(field.symbols)}" if field.symbols else ""
    return field.takes + symbols


def _indent_rows(rows: list[tuple[str, str]]) -> list[str]:
    return format_columns([("", *row) for row in rows])


def _format_list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "(nothing)"
