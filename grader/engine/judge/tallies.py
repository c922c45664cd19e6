"""Tallies: on how many key sets an answer keeps the bound of each level, and what that earns.

Counts are plain numbers rather than arrays: a single answer has a handful of them, and what follows
from the same counts is looked up, because most answers pass on all key sets or on none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Interval, Outcome, Reason
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.engine.random.keysets import KeySets
from grader.engine.sample.context import SLACK, to_nine_digits
from grader.engine.sequential import Threshold, compute_threshold

Array = NDArray[Any]
Flags = NDArray[np.bool_]

_ONE, _ZERO = Decimal(1), Decimal(0)


class Count(NamedTuple):
    """What one answer did by one criterion on all key sets so far.

    `passed` tells for each level on how many key sets its bound was kept. `tried` are those that
    count, `drawn` all. `median` is that of the first key sets. `is_finite` is false if some number
    was not.
    """

    passed: tuple[int, ...]
    tried: int
    drawn: int
    median: float
    is_finite: bool

    @property
    def has_value(self) -> bool:
        """Whether some key set counted, and all numbers were finite."""
        return self.is_finite and self.tried > 0

    def add(self, other: Count) -> Count:
        """The count on these key sets and further ones."""
        return Count(
            tuple(map(int.__add__, self.passed, other.passed)),
            self.tried + other.tried,
            self.drawn + other.drawn,
            self.median,
            self.is_finite and other.is_finite,
        )


class Ruling(NamedTuple):
    """What follows from counts by one criterion.

    `possible` is the credit that is not ruled out. `is_open` tells whether more key sets could
    still change the credit. `share` and `interval` are those of the best level; None without one.
    """

    outcome: Outcome
    reason: Reason
    credit: Decimal
    possible: Decimal
    is_open: bool
    share: float | None
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class Scale:
    """The levels of a criterion, with the share of key sets that each needs.

    `rule` gives the ruling on the number of key sets that passed by level, and that were tried.
    """

    criterion: MeasuredCriterion
    thresholds: tuple[Threshold | None, ...]
    rule: Callable[[tuple[int, ...], int], Ruling] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", lru_cache(maxsize=4096)(self._make_ruling))

    @classmethod
    def of(cls, criterion: MeasuredCriterion, key_sets: KeySets | None) -> Scale:
        """The scale of a criterion on key sets."""
        return cls(criterion, tuple(find_threshold(each, key_sets) for each in criterion.levels))

    def _make_ruling(self, passed: tuple[int, ...], tried: int) -> Ruling:
        """Take the best level that is cleared, and look for a better one that is not lost.

        A level without a share must hold on every key set, which leaves nothing undecided.
        """
        credit, possible = _ZERO, None
        is_open = False
        for level, threshold, count in zip(
            self.criterion.levels, self.thresholds, passed, strict=True
        ):
            is_cleared = 0 < tried == count
            is_lost = not is_cleared
            if threshold is not None:
                is_cleared = bool(threshold.is_awarded(count, tried))
                is_lost = not is_cleared and bool(threshold.is_refused(count, tried))
            if possible is None and not is_lost:
                possible, is_open = level.credit, not is_cleared
            if is_cleared:
                credit = level.credit
                break
        share, interval = _compute_shown_share(self.thresholds[0], passed[0], tried)
        outcome, reason = _choose_outcome(credit, share)
        if is_open:
            reason = Reason.UNDECIDED
        return Ruling(outcome, reason, credit, possible or _ZERO, is_open, share, interval)


def get_scale(question: Question, criterion: MeasuredCriterion) -> Scale:
    """The scale of one of the question's criteria, made once."""
    scale = question.known.get(("scale", criterion.id))
    if not isinstance(scale, Scale):
        scale = question.known["scale", criterion.id] = Scale.of(criterion, question.key_sets)
    return scale


def _choose_outcome(credit: Decimal, share: float | None) -> tuple[Outcome, Reason]:
    if credit == _ONE:
        return Outcome.MET, Reason.HOLDS
    if credit > _ZERO:
        return Outcome.PARTLY_MET, Reason.LOWER_LEVEL
    if share is not None and share >= 0.5:
        return Outcome.NOT_MET, Reason.TOO_FEW_KEY_SETS
    return Outcome.NOT_MET, Reason.OUTSIDE_TOLERANCE


def _compute_shown_share(
    threshold: Threshold | None, passed: int, tried: int
) -> tuple[float | None, Interval | None]:
    if threshold is None or not tried:
        return None, None
    interval = threshold.compute_interval(passed, tried)
    shown = Interval(to_nine_digits(interval.low), to_nine_digits(interval.high))
    return to_nine_digits(passed / tried), shown


class Tally:
    """The counts of answers by one criterion, by the number of the answer."""

    __slots__ = ("counts", "scale")

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.counts: dict[int, Count] = {}

    def add(self, measured: Array, kept: Array | None, rows: Sequence[int]) -> None:
        """Count what was measured on further key sets.

        Parameters
        ----------
        measured : (answers or 1, key sets or 1) array
        kept : (answers, key sets) array, or None where all key sets count
        rows
            The numbers of the answers that were measured: all counted before, or none.
        """
        counts = self.counts
        is_first = rows[0] not in counts
        found = self._count(measured, kept, len(rows), with_median=is_first)
        if is_first:
            counts.update(zip(rows, found, strict=True))
        else:
            counts.update((row, counts[row].add(new)) for row, new in zip(rows, found, strict=True))

    def _count(
        self, measured: Array, kept: Array | None, answers: int, *, with_median: bool
    ) -> Iterator[Count]:
        if len(measured) != answers:
            measured = np.broadcast_to(measured, (answers, measured.shape[1]))
        drawn = measured.shape[1]
        counted = None if kept is None or drawn == 1 else kept
        tried = [drawn] * answers if counted is None else counted.sum(axis=1).tolist()
        medians = _compute_medians(measured, counted) if with_median else [math.nan] * answers
        least = float(np.minimum.reduce(measured, axis=None))
        most = float(np.maximum.reduce(measured, axis=None))
        # Where all answers keep a bound on all key sets, as most do, nobody need count.
        passed = [
            tried
            if _keeps_bound(level, least if level.within is None else most)
            else count_within(level, measured, counted).tolist()
            for level in self.scale.criterion.levels
        ]
        is_finite = [True] * answers
        if not (math.isfinite(least) and math.isfinite(most)):
            is_finite = find_finite_rows(measured).tolist()
        return map(Count, zip(*passed, strict=True), tried, [drawn] * answers, medians, is_finite)

    def has_value(self, row: int) -> bool:
        """Whether an answer was measured on some key set, and gave finite numbers on all."""
        return self.counts[row].has_value

    def rule(self, row: int) -> Ruling:
        """What follows from the counts of an answer."""
        count = self.counts[row]
        return self.scale.rule(count.passed, count.tried)


def find_threshold(level: Level, key_sets: KeySets | None) -> Threshold | None:
    """The share that a level needs, None for levels without a share."""
    if level.share is None or key_sets is None:
        return None
    return compute_threshold(level.share, key_sets.counts, is_filtered=key_sets.keep is not None)


def count_within(level: Level, measured: Array, counted: Array | None) -> NDArray[np.intp]:
    """For every answer the number of key sets on which a level's bound is kept."""
    holds = _keeps_bound(level, measured)
    rows = holds if counted is None else holds & counted
    # Counting row by row is faster than along an axis, which adds up converted numbers.
    return np.array([np.count_nonzero(row) for row in rows])


@overload
def _keeps_bound(level: Level, measured: float) -> bool: ...
@overload
def _keeps_bound(level: Level, measured: Array) -> Flags: ...
def _keeps_bound(level: Level, measured: float | Array) -> bool | Flags:
    """Whether or where a level's bound is kept, with a little slack; NaN keeps none."""
    slack = SLACK * abs(level.bound)
    if level.within is not None:
        return measured <= level.bound + slack
    return measured >= level.bound - slack


def find_finite_rows(measured: Array) -> Flags:
    """The answers that have a finite number on every key set."""
    return np.asarray(np.isfinite(measured).all(axis=1))


def _compute_medians(measured: Array, kept: Array | None) -> list[float]:
    """For every answer the lower median over the key sets that count."""
    if kept is not None:
        ordered = np.sort(np.where(kept, measured, np.inf), axis=1)
        middle = np.maximum(kept.sum(axis=1) - 1, 0) // 2
        medians: list[float] = np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0].tolist()
        return medians
    middle_of_all = (measured.shape[1] - 1) // 2
    parted = measured.copy()
    parted.partition(middle_of_all, axis=1)
    medians = parted[:, middle_of_all].tolist()
    return medians
