"""A question as a notebook shows it: the prompt, the own numbers as arrays, what may be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from grader.client.facts import arrays_of, show_time, time_of
from grader.client.layout import align, count, describe_axes, show_points
from grader.client.progress import QuestionStanding, read_standing


@dataclass(frozen=True, slots=True)
class FieldFacts:
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
class CriterionFacts:
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
    fields: tuple[FieldFacts, ...]
    criteria: tuple[CriterionFacts, ...]
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
                f"{self.id} · {self.title} ({count(self.max_points, 'point')})",
                "",
                self.prompt.rstrip(),
                "",
                "Given (indices count from zero):",
                *_indented([(name, describe_given(each)) for name, each in self.given.items()]),
                "",
                "Answer:",
                *_indented([(each.name, _takes(each)) for each in self.fields]),
                "",
                "Criteria:",
                *_indented([(show_points(each.points), each.title) for each in self.criteria]),
                *[f"\nHint: {hint}" for hint in self.hints],
                "",
                self._state(),
            ]
        )

    def _repr_markdown_(self) -> str:
        """What a notebook shows: Markdown, with TeX between dollar signs."""
        given = [f"`{name}`: {describe_given(each)}" for name, each in self.given.items()]
        fields = [f"`{each.name}`: {_takes(each)}" for each in self.fields]
        criteria = [f"{each.title} ({show_points(each.points)})" for each in self.criteria]
        return "\n\n".join(
            [
                f"### {self.id} · {self.title} ({count(self.max_points, 'point')})",
                self.prompt.rstrip(),
                "**Given** (indices count from zero)",
                _listed(given),
                "**Answer**",
                _listed(fields),
                "**Criteria**",
                _listed(criteria),
                *[f"> Hint: {hint}" for hint in self.hints],
                self._state(),
            ]
        )

    def _state(self) -> str:
        due = f" Due {show_time(self.due_at)}." if self.due_at else ""
        earlier = f" It builds on your answer to {self.builds_on}." if self.builds_on else ""
        left = self.attempts_left
        return f"{count(left, 'attempt')} left.{due}{earlier}"


def read_question(data: Any) -> Question:
    """Read a question as the service tells it."""
    return Question(
        id=data["id"],
        title=data["title"],
        prompt=data["prompt"],
        max_points=float(data["max_points"]),
        given=arrays_of(data["given"]),
        fields=tuple(_field(each) for each in data["fields"]),
        criteria=tuple(
            CriterionFacts(each["id"], each["title"], float(each["points"]))
            for each in data["criteria"]
        ),
        example=data["example"],
        hints=tuple(data["hints"]),
        builds_on=data["uses"]["question"] if data["uses"] else None,
        due_at=time_of(data["due_at"]),
        standing=read_standing(data["standing"]),
        json=data,
    )


def _field(data: Any) -> FieldFacts:
    return FieldFacts(
        name=data["name"],
        kind=data["kind"],
        takes=data["takes"],
        shape=None if data["shape"] is None else tuple(data["shape"]),
        symbols=tuple(data["symbols"]),
        options=tuple(data["options"]),
        is_optional=data["is_optional"],
    )


def describe_given(value: Any) -> str:
    """A given value in a few words: a number itself, an array by its shape."""
    return describe_axes(value.shape) if isinstance(value, np.ndarray) else str(value)


def _takes(field: FieldFacts) -> str:
    symbols = f"; symbols: {', '.join(field.symbols)}" if field.symbols else ""
    return field.takes + symbols


def _indented(rows: list[tuple[str, str]]) -> list[str]:
    return align([("", *row) for row in rows])


def _listed(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "(nothing)"
