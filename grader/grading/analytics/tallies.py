"""Attempts at a question, gathered row by row into what its statistics are computed from."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from grader.domain.behaviour import build_traits, hash_traits
from grader.domain.statistics import AttemptArrays, IntArray
from grader.store.queries.insights import AttemptOutcomeLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """A moment as a whole number, so that differences are exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: int) -> datetime:
    """The moment of such a number."""
    return _EPOCH + timedelta(microseconds=number)


@dataclass(slots=True)
class OccurrenceCount:
    """How often a misconception or a behaviour was shown, with the earliest attempt that did."""

    at: int
    attempt_id: str
    data: Any
    attempts: int = 0
    students: set[int] = field(default_factory=set)


@dataclass(slots=True)
class QuestionTally:
    """All attempts at one question so far; `points` and `possible` are the automatic ones."""

    ids: list[str] = field(default_factory=list)
    student: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    possible: list[int] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    needs_person: list[bool] = field(default_factory=list)
    outcomes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    first_outcomes: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    misconceptions: dict[str, OccurrenceCount] = field(default_factory=dict)
    #: What was not solved and fits no known misconception, by what it did.
    unexplained: dict[str, OccurrenceCount] = field(default_factory=dict)

    def add(self, student: int, line: AttemptOutcomeLine) -> None:
        """Gather one attempt."""
        self.ids.append(line.attempt_id)
        self.student.append(student)
        self.number.append(line.number)
        self.points.append(line.awarded)
        self.possible.append(line.possible - line.pending)
        self.at.append(to_microseconds(line.received_at))
        self.needs_person.append(line.needs_person)
        for verdict in line.verdicts:
            self.outcomes[verdict["criterion"]][verdict["outcome"]] += 1
            if line.number == 1:
                self.first_outcomes[verdict["criterion"]][verdict["outcome"]] += 1
        for each in line.misconceptions:
            self._show(self.misconceptions, each["id"], student, line.attempt_id, each)
        if is_unexplained(line):
            traits = build_traits(line.verdicts)
            self._show(self.unexplained, hash_traits(traits), student, line.attempt_id, traits)

    def _show(
        self, kind: dict[str, OccurrenceCount], name: str, student: int, attempt_id: str, data: Any
    ) -> None:
        at = self.at[-1]
        shown = kind.setdefault(name, OccurrenceCount(at, attempt_id, data))
        shown.attempts += 1
        shown.students.add(student)
        # Rows come in no order, and the example must not depend on it.
        if (at, attempt_id) < (shown.at, shown.attempt_id):
            shown.at, shown.attempt_id, shown.data = at, attempt_id, data

    def students(self) -> IntArray:
        """(A,) whose attempts they are."""
        return _whole(self.student)

    def moments(self) -> IntArray:
        """(A,) when they arrived."""
        return _whole(self.at)

    def automatic(self) -> AttemptArrays:
        """Those attempts at which something could be earned without a person."""
        possible = _whole(self.possible)
        kept = possible > 0
        return AttemptArrays(
            student=_whole(self.student)[kept],
            number=_whole(self.number)[kept],
            points=_whole(self.points)[kept],
            possible=possible[kept],
            at=_whole(self.at)[kept],
        )

    def earliest_for_person(self, most: int) -> list[str]:
        """The attempts that a person must look at, so many at most, the earliest first."""
        waiting = sorted(
            (at, attempt_id)
            for at, attempt_id, needs in zip(self.at, self.ids, self.needs_person, strict=True)
            if needs
        )
        return [attempt_id for _, attempt_id in waiting[:most]]


def is_unexplained(line: AttemptOutcomeLine) -> bool:
    """Whether an attempt has not earned everything, and no misconception says why."""
    return not line.misconceptions and line.awarded < line.possible - line.pending


def _whole(numbers: list[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
