"""Tallies: the attempts at a question, row by row, as its statistics need them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from grader.domain.behaviour import build_traits, hash_traits
from grader.domain.statistics import AttemptArrays, IntArray
from grader.store.queries.insights import AttemptOutcomeLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """A time as a whole number of microseconds, so that differences are exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: int) -> datetime:
    """The time of a number of microseconds."""
    return _EPOCH + timedelta(microseconds=number)


@dataclass(slots=True)
class OccurrenceCount:
    """How often a misconception or a behaviour occurred, with the earliest attempt of all."""

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
    #: Attempts that did not solve it and fit no known misconception, by their behaviour.
    unexplained: dict[str, OccurrenceCount] = field(default_factory=dict)

    def add(self, student: int, line: AttemptOutcomeLine) -> None:
        """Add one attempt."""
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
            self._count(self.misconceptions, each["id"], student, line.attempt_id, each)
        if is_unexplained(line):
            traits = build_traits(line.verdicts)
            self._count(self.unexplained, hash_traits(traits), student, line.attempt_id, traits)

    def _count(
        self, kind: dict[str, OccurrenceCount], name: str, student: int, attempt_id: str, data: Any
    ) -> None:
        at = self.at[-1]
        count = kind.setdefault(name, OccurrenceCount(at, attempt_id, data))
        count.attempts += 1
        count.students.add(student)
        # Rows come in no particular order, and the example must not depend on it.
        if (at, attempt_id) < (count.at, count.attempt_id):
            count.at, count.attempt_id, count.data = at, attempt_id, data

    def students(self) -> IntArray:
        """(A,) the student of each attempt."""
        return _whole(self.student)

    def moments(self) -> IntArray:
        """(A,) when each attempt arrived."""
        return _whole(self.at)

    def automatic(self) -> AttemptArrays:
        """The attempts that could earn something without a person."""
        possible = _whole(self.possible)
        kept = possible > 0
        return AttemptArrays(
            student=_whole(self.student)[kept],
            number=_whole(self.number)[kept],
            points=_whole(self.points)[kept],
            possible=possible[kept],
            at=_whole(self.at)[kept],
        )


def list_most_common(
    counts: Mapping[str, OccurrenceCount],
) -> list[tuple[str, OccurrenceCount]]:
    """What most students showed comes first."""
    return sorted(
        counts.items(), key=lambda item: (-len(item[1].students), -item[1].attempts, item[0])
    )


def is_unexplained(line: AttemptOutcomeLine) -> bool:
    """Whether an attempt earned less than everything, and no misconception explains it."""
    return not line.misconceptions and is_unsolved(line)


def is_unsolved(line: AttemptOutcomeLine) -> bool:
    """Whether an attempt earned less than it could without a person."""
    return line.awarded < line.possible - line.pending


def _whole(numbers: list[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
