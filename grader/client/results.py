"""What became of an answer: how it was read, criterion by criterion, and the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from grader.client.layout import (
    describe_axes,
    format_columns,
    format_count,
    format_points,
    wrap_text,
)
from grader.client.responses import format_time, parse_points, parse_time

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

    def describe(self) -> str:
        """How it was read, in a few words."""
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
    """How a whole answer was read; nothing was judged and no attempt used."""

    fields: tuple[FieldReading, ...]
    not_sent: tuple[str, ...] = ()
    """Fields that may follow later."""

    def __repr__(self) -> str:
        lines = format_columns([("Read", each.field, each.describe()) for each in self.fields])
        later = [f"Not sent yet: {', '.join(self.not_sent)}."] if self.not_sent else []
        return "\n".join([*lines, *later])


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """How one criterion came out, with the sentence that says why; empty where it is withheld."""

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
    """What proves the attempt: its id, when it arrived, and the hash of what was sent."""

    attempt: str
    received_at: datetime | None
    answer: str
    signature: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """An attempt and what came out of it; printed, it is the feedback.

    Its `repr` is one line, so that a notebook does not show again what `submit` has printed.
    `score` is None where it is withheld for now; `points` is what the attempt is worth now, with
    reviews, and less where it came late. `json` is everything that the service said.
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
    """`own` or `reference`: which earlier answer this part was tried with."""
    attempts_left: int
    receipt: Receipt
    json: Mapping[str, Any]
    reading: Reading | None = None
    """How the answer was read; None for an attempt that was looked up later."""
    is_repeated: bool = False
    """Whether the same answer was sent before, so that no attempt was used."""

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
            lines.append("The same answer was sent before; this is its result. No attempt used.")
        if self.uses == "own":
            lines.append("Tried with your own earlier answer.")
        elif self.uses == "reference":
            lines.append(
                "Tried with a reference answer to the part before, because yours does not earn the "
                "points there that this part builds on."
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
            waits = "waits" if self.pending == 1 else "wait"
            parts.append(f"{format_count(self.pending, 'point')} {waits} for a person.")
        if self.days_late:
            parts.append(f"{format_count(self.days_late, 'day')} late.")
        parts.append(f"{format_count(self.attempts_left, 'attempt')} left.")
        return wrap_text(" ".join(parts))

    def _receipt(self) -> list[str]:
        receipt = self.receipt
        return format_columns(
            [
                ("Receipt", receipt.attempt),
                ("received", format_time(receipt.received_at)),
                ("answer", receipt.answer),
            ]
        )


def _format_row(criterion: CriterionResult) -> tuple[str, str, str]:
    mark = _MARKS.get(criterion.outcome, "?")
    points = f"{format_points(criterion.points)} / {format_points(criterion.max_points)}"
    return mark, points, " ".join([f"{criterion.title}.", criterion.text]).rstrip()


def read_result(data: Any) -> Result:
    """Read an attempt as the service tells it."""
    said = {each["criterion"]: each["text"] for each in data["feedback"]}
    receipt = data["receipt"]
    return Result(
        id=data["id"],
        number=data["number"],
        question=data["question"],
        score=parse_points(data["score"]),
        max_score=float(data["max_score"]),
        max_automatic=float(data["max_automatic"]),
        pending=float(data["pending"]),
        points=parse_points(data["points"]),
        days_late=data["days_late"],
        is_counted=data["is_counted"],
        criteria=tuple(
            _read_criterion(each, said.get(each["id"], "")) for each in data["criteria"]
        ),
        misconceptions=tuple(
            Misconception(each["id"], each["text"]) for each in data["misconceptions"]
        ),
        uses=data["uses"],
        attempts_left=data["attempts_left"],
        receipt=Receipt(
            attempt=receipt["attempt"],
            received_at=parse_time(receipt["received_at"]),
            answer=receipt["answer"],
            signature=receipt["signature"],
        ),
        json=data,
    )


def read_results(data: Any) -> tuple[Result, ...]:
    """Read several attempts, in order."""
    return tuple(read_result(each) for each in data)


def _read_criterion(data: Any, text: str) -> CriterionResult:
    return CriterionResult(
        id=data["id"],
        title=data["title"],
        points=float(data["points"]),
        max_points=float(data["max_points"]),
        outcome=data["outcome"],
        text=text,
    )


def read_reading(data: Any) -> Reading:
    """Read how the service read an answer."""
    fields = tuple(
        FieldReading(
            field=each["field"],
            read_as=each["read_as"],
            shape=None if each["shape"] is None else tuple(each["shape"]),
            format=each["format"],
            text=each["text"],
            latex=each["latex"],
        )
        for each in data["fields"]
    )
    return Reading(fields, tuple(data["not_sent"]))


def add_reading(result: Result, reading: Reading, *, is_repeated: bool) -> Result:
    """The result of an answer that was just sent."""
    return replace(result, reading=reading, is_repeated=is_repeated)
