"""The result of an answer: how it was read, each criterion, and the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.client.layout import (
    describe_axes,
    format_columns,
    format_count,
    format_points,
    format_time,
    wrap_text,
)
from grader.client.responses import from_json

_MARKS = {"met": "✓", "partly_met": "~", "not_met": "✗", "ungradable": "?", "pending": "…"}


@dataclass(frozen=True, slots=True)
class FieldReading:
    """How one field of an answer was read."""

    field: str
    read_as: str
    """`numbers`, `formula`, `choice`, `text`, `file` or `score`."""
    shape: tuple[int, ...] | None = None
    format: str | None = None
    """How numbers were written: JSON, NumPy, MATLAB, CSV, LaTeX …"""
    text: str | None = None
    """A formula in plain letters."""
    latex: str | None = None
    """A formula in LaTeX."""
    notes: tuple[str, ...] = ()
    """How it was read, in sentences, where that may surprise."""

    def describe(self) -> str:
        """How the field was read, in a few words, and what may surprise about it."""
        return " ".join([self._describe_value(), *self.notes])

    def _describe_value(self) -> str:
        shape = describe_axes(self.shape or ()) if self.shape is not None else ""
        match self.read_as:
            case "formula":
                return f"the formula {self.text} ({shape})"
            case "numbers" if self.format not in (None, "JSON"):
                return f"{shape}, written as {self.format}"
            case "numbers":
                return shape
            case _:
                return self.read_as


@dataclass(frozen=True, slots=True, repr=False)
class Reading:
    """How a whole answer was read; nothing was judged, and no attempt was used."""

    fields: tuple[FieldReading, ...]
    not_sent: tuple[str, ...] = ()
    """Fields that may follow later."""

    def __repr__(self) -> str:
        lines = format_columns([("Read", each.field, each.describe()) for each in self.fields])
        later = [f"Not sent yet: {', '.join(self.not_sent)}."] if self.not_sent else []
        return "\n".join([*lines, *later])


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """How one criterion came out; `text` says why, and is empty while results are withheld."""

    id: str
    title: str
    points: float
    max_points: float
    outcome: str
    text: str


@dataclass(frozen=True, slots=True)
class Misconception:
    """A known wrong idea that the answer shows."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of the attempt: its id, when it arrived, and the hash of the answer."""

    attempt: str
    received_at: datetime | None
    answer: str
    signature: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """An attempt and its result; printing it shows the feedback.

    Its `repr` is one line, so that a notebook does not repeat what `submit` has printed. `score`
    is None while results are withheld; `points` is what the attempt is worth now, after reviews
    and late penalties. `json` is the complete response of the service.
    """

    id: str
    number: int
    question: str
    score: float | None
    max_score: float
    max_automatic: float
    pending: float
    points: float | None
    days_late: int
    is_counted: bool
    criteria: tuple[CriterionResult, ...]
    misconceptions: tuple[Misconception, ...]
    uses: str | None
    """`own` or `reference`: which earlier answer was used."""
    attempts_left: int
    receipt: Receipt
    json: Mapping[str, Any]
    reading: Reading | None = None
    """How the answer was read; None for an attempt that was fetched later."""
    is_repeated: bool = False
    """Whether the same answer had been sent before, so that no attempt was used."""
    repeats_attempt: str | None = None
    """An earlier attempt with the same answer, if the rubric has changed since; then it is free."""

    def __repr__(self) -> str:
        score = "not shown yet" if self.score is None else format_points(self.score)
        of = format_points(self.max_automatic)
        return f"<Result {self.id}: {self.question}, attempt {self.number}, {score} of {of}>"

    def __str__(self) -> str:
        blocks = [
            [f"{self.question} · attempt {self.number}", *self._before()],
            [repr(self.reading)] if self.reading is not None else [],
            format_columns([_format_row(each) for each in self.criteria], right=frozenset({1})),
            [wrap_text(each.text, indent=2, first="→ ") for each in self.misconceptions],
            [self._total()],
            self._receipt(),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def _before(self) -> list[str]:
        lines = []
        if self.is_repeated:
            lines.append(
                "You sent the same answer before; this is its result. No attempt was used."
            )
        if self.repeats_attempt is not None:
            lines.append(
                "You sent the same answer before, and the rubric has changed since, so it was "
                "judged again. No attempt was used."
            )
        if self.uses == "own":
            lines.append("Judged with your own earlier answer.")
        elif self.uses == "reference":
            lines.append(
                "Judged with a reference answer to the earlier question, because yours did not "
                "earn the points that this question builds on."
            )
        return [wrap_text(line) for line in lines]

    def _total(self) -> str:
        parts = []
        if self.score is None:
            parts.append("The attempt is stored; its result is not shown yet.")
        elif self.max_automatic:
            parts.append(
                f"{format_points(self.score)} of {format_count(self.max_automatic, 'point')}."
            )
        if self.pending:
            parts.append(f"{format_count(self.pending, 'point')} to be graded by a person.")
        if self.days_late:
            parts.append(f"{format_count(self.days_late, 'day')} late.")
        parts.append(f"{format_count(self.attempts_left, 'attempt')} left.")
        return wrap_text(" ".join(parts))

    def _receipt(self) -> list[str]:
        attempt, received_at = self.receipt.attempt, format_time(self.receipt.received_at)
        return format_columns(
            [("Receipt", attempt), ("received", received_at), ("answer", self.receipt.answer)]
        )


def _format_row(criterion: CriterionResult) -> tuple[str, str, str]:
    mark = _MARKS.get(criterion.outcome, "?")
    points = f"{format_points(criterion.points)} / {format_points(criterion.max_points)}"
    return mark, points, " ".join([f"{criterion.title}.", criterion.text]).rstrip()


def read_result(data: Any) -> Result:
    """Read an attempt."""
    texts = {each["criterion"]: each["text"] for each in data["feedback"]}
    criteria = [{**each, "text": texts.get(each["id"], "")} for each in data["criteria"]]
    return from_json(Result, {**data, "criteria": criteria, "json": data})
