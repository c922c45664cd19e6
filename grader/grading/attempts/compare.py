"""Two attempts at a question side by side: what was sent, and how each criterion came out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.engine.random.variants import stack_variants
from grader.errors import NotFound, StudentError
from grader.grading.attempts.find import VisibleAttempt
from grader.grading.context import GradingContext
from grader.reading.answer import Numbers, Value, read_answer
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine


@dataclass(frozen=True, slots=True)
class NumberDifferences:
    """A field that is numbers in both: rows of (first, second), a vector being one row."""

    rows: tuple[tuple[tuple[float, float], ...], ...]

    @property
    def changed(self) -> int:
        """The number of entries that differ."""
        return sum(first != second for row in self.rows for first, second in row)

    @property
    def entries(self) -> int:
        """The number of entries."""
        return sum(map(len, self.rows))

    @property
    def largest(self) -> float:
        """The largest difference of an entry."""
        return max((abs(second - first) for row in self.rows for first, second in row), default=0.0)


@dataclass(frozen=True, slots=True)
class TextDifferences:
    """A field line by line: each with ``-`` for the first alone, ``+`` for the second, or space."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of the answer in both attempts."""

    name: str
    is_same: bool
    how: NumberDifferences | TextDifferences


def compare_attempts(
    session: Session, context: GradingContext, first: VisibleAttempt, second: VisibleAttempt
) -> list[FieldDifference]:
    """Field by field, what the second attempt sent otherwise than the first.

    Raises
    ------
    NotFound
        Where they are not attempts at the same question of one course run.
    """
    one, other = first.attempt, second.attempt
    if (one.run_id, one.assignment, one.question) != (
        other.run_id,
        other.assignment,
        other.question,
    ):
        raise NotFound
    read = [_read(session, context, each) for each in (first, second)]
    names = [*one.answer, *(name for name in other.answer if name not in one.answer)]
    return [_compare(name, one, other, read) for name in names]


def _read(session: Session, context: GradingContext, found: VisibleAttempt) -> Mapping[str, Value]:
    """The fields as they are read; none where the question asks for something else since."""
    attempt = found.attempt
    rubric = found.published.rubric(attempt.question)
    drawn = stack_variants([context.variant_answered(session, attempt, rubric)])
    try:
        return read_answer(attempt.answer, rubric.question.fields, drawn).values
    except StudentError:
        return {}


def _compare(
    name: str, one: AttemptLine, other: AttemptLine, read: list[Mapping[str, Value]]
) -> FieldDifference:
    is_same = one.answer.get(name) == other.answer.get(name)
    before, after = (values.get(name) for values in read)
    if (
        isinstance(before, Numbers)
        and isinstance(after, Numbers)
        and before.array.shape == after.array.shape
    ):
        return FieldDifference(name, is_same, _compare_numbers(before, after))
    lines = difflib.ndiff(_lines(one.answer.get(name)), _lines(other.answer.get(name)))
    marked = tuple((line[0], line[2:]) for line in lines if line[0] != "?")
    return FieldDifference(name, is_same, TextDifferences(marked))


def _compare_numbers(before: Numbers, after: Numbers) -> NumberDifferences:
    pairs = zip(np.atleast_2d(before.array), np.atleast_2d(after.array), strict=True)
    return NumberDifferences(
        tuple(tuple(zip(one.tolist(), other.tolist(), strict=True)) for one, other in pairs)
    )


def _lines(sent: Any) -> list[str]:
    if sent is None:
        return []
    return (sent if isinstance(sent, str) else json.dumps(sent)).splitlines()
