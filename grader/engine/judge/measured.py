"""Criteria measured on key sets: tallies, credits and verdicts for many answers at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.engine.random.keysets import KeySets
from grader.engine.sample.context import (
    OVERFLOW_EXPONENT,
    SATURATED_EXPONENT,
    SLACK,
    SamplingContext,
    count_answers,
    scale_down_answers,
    split_into_batches,
    to_nine_digits,
)
from grader.engine.sample.observe import observe, select_rows
from grader.engine.sample.plans import list_saturating_fields, plan_for
from grader.engine.sequential import CountLimits, Threshold, compute_threshold
from grader.formula.eval.buffers import KeptBuffers, borrow_buffers
from grader.formula.eval.evaluate import Environment, replace_buffers

Array = NDArray[Any]
Flags = NDArray[np.bool_]

_ONE, _ZERO = Decimal(1), Decimal(0)

# Numbers below this power of two are small: they do not overflow.
_SMALL_EXPONENT = 1


class Tally:
    """For one criterion and every answer: on how many key sets each level's bound was kept.

    `thresholds` has the share that each level needs; None for levels without a share.
    """

    __slots__ = ("criterion", "drawn", "finite", "median", "passed", "thresholds", "tried")

    def __init__(
        self, criterion: MeasuredCriterion, answers: int, key_sets: KeySets | None
    ) -> None:
        self.criterion = criterion
        self.thresholds = tuple(find_threshold(each, key_sets) for each in criterion.levels)
        self.passed = np.zeros((answers, len(criterion.levels)), dtype=np.intp)
        self.tried = np.zeros(answers, dtype=np.intp)
        self.drawn = np.zeros(answers, dtype=np.intp)
        self.median = np.zeros(answers)
        self.finite = np.ones(answers, dtype=bool)

    def add(
        self,
        measured: Array,
        kept: Array | None,
        rows: slice | NDArray[np.intp],
        *,
        is_first: bool,
    ) -> None:
        """Count what was measured on further key sets.

        Parameters
        ----------
        measured : (answers or 1, key sets or 1) array
        kept : (answers, key sets) array, or None where all key sets count
        rows
            The answers that were measured.
        is_first
            Whether these are the first key sets, whose median is reported.
        """
        counted = None if kept is None or measured.shape[1] == 1 else kept
        if counted is not None and len(measured) != len(counted):
            measured = np.broadcast_to(measured, counted.shape)
        tried = measured.shape[1] if counted is None else counted.sum(axis=1)
        if is_first:
            self.median[rows] = _compute_median(measured, counted)
        least, most = float(measured.min()), float(measured.max())
        for column, level in enumerate(self.criterion.levels):
            # Where all answers keep a bound on all key sets, as most do, nobody need count.
            if _keeps_bound(level, least if level.within is None else most):
                self.passed[rows, column] += tried
            else:
                self.passed[rows, column] += count_within(level, measured, counted)
        self.drawn[rows] += measured.shape[1]
        self.tried[rows] += tried
        if not (math.isfinite(least) and math.isfinite(most)):
            self.finite[rows] &= find_finite_rows(measured)

    def find_finite(self) -> Flags:
        """The answers that were measured on some key set, and gave finite numbers on all."""
        return np.asarray(self.finite & (self.tried > 0))

    def replace(self, rows: NDArray[np.intp], other: Tally, others: NDArray[np.intp]) -> None:
        """Take the counts of another tally's answers for some of these."""
        for name in ("passed", "tried", "drawn", "median", "finite"):
            getattr(self, name)[rows] = getattr(other, name)[others]

    def decide(self) -> tuple[Flags, Flags]:
        """Which levels are cleared and which are still undecided, each of shape (answers, levels).

        A level without a share must hold on every key set, which leaves nothing undecided.
        """
        tried = self.tried
        if len(tried) == 1 or (tried == tried[0]).all():
            # Nearly always as many were tried of all answers, and the limits are known.
            awarded_from, refused_to = _compute_limits(self.thresholds, int(tried[0]))
            cleared = self.passed >= awarded_from
            return cleared, ~(cleared | (self.passed <= refused_to))
        cleared = (self.passed == tried[:, None]) & (tried[:, None] > 0)
        undecided = np.zeros(cleared.shape, dtype=bool)
        for column, threshold in enumerate(self.thresholds):
            if threshold is not None:
                passed = self.passed[:, column]
                is_awarded = threshold.is_awarded(passed, tried)
                cleared[:, column] = is_awarded
                undecided[:, column] = ~(is_awarded | threshold.is_refused(passed, tried))
        return cleared, undecided


@lru_cache(maxsize=1024)
def _compute_limits(
    thresholds: tuple[Threshold | None, ...], tried: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each level the count from which on it is cleared, and the count up to which it is lost.

    A level without a share must hold on every key set, and on one at least.
    """
    every = CountLimits(awarded_from=max(tried, 1), refused_to=max(tried, 1) - 1)
    limits = [every if each is None else each.compute_limits(tried) for each in thresholds]
    return np.array([each.awarded_from for each in limits]), np.array(
        [each.refused_to for each in limits]
    )


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


def _compute_median(measured: Array, kept: Array | None) -> Array:
    """The lower median over the key sets that count."""
    if kept is not None:
        measured = np.where(kept, measured, np.inf)
        middle = np.maximum(kept.sum(axis=1) - 1, 0) // 2
        ordered = np.sort(measured, axis=1)
        return np.asarray(np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0])
    middle_of_all = (measured.shape[1] - 1) // 2
    return np.asarray(np.partition(measured, middle_of_all, axis=1)[:, middle_of_all])


@dataclass(frozen=True)
class Measurements:
    """What answers did by some criteria: the credit of each, and the verdict of any.

    `decisions` tells for each tally which levels are cleared and which are undecided. `is_open`
    marks answers that more key sets could still change, `scaling` tells which were judged at a
    smaller size. `is_undefined`, of shape (answers, criteria), marks what has no value at any size.
    """

    tallies: tuple[Tally, ...]
    decisions: Sequence[tuple[Flags, Flags]]
    is_open: Flags
    scaling: Sequence[Scaling]
    is_undefined: Flags

    @cached_property
    def credits(self) -> tuple[Array, Array]:
        """The credit awarded, and the credit that is not ruled out; (answers, criteria) each."""
        awarded: list[Array] = []
        possible: list[Array] = []
        for tally, (cleared, undecided) in zip(self.tallies, self.decisions, strict=True):
            credits = np.array([float(each.credit) for each in tally.criterion.levels])
            is_judged = tally.finite & (tally.tried > 0)
            for levels, column in ((cleared, awarded), (cleared | undecided, possible)):
                best = credits[levels.argmax(axis=1)]
                column.append(np.where(is_judged & levels.any(axis=1), best, 0.0))
        return np.stack(awarded, axis=1), np.stack(possible, axis=1)

    def make_verdict(self, row: int, column: int) -> Verdict:
        """The verdict on one answer by one criterion."""
        tally, counts = self.tallies[column], self._counts[column]
        criterion = tally.criterion
        if not counts.is_judged[row]:
            is_undefined = bool(self.is_undefined[row, column])
            return _make_ungradable(criterion, is_undefined=is_undefined)
        credit = criterion.levels[counts.best[row]].credit if counts.is_cleared[row] else _ZERO
        # The evidence speaks of the best level: that is what the student wants to reach.
        evidence = _make_evidence(tally, counts, row, self.scaling[row])
        outcome, reason = _choose_outcome(credit, evidence)
        if counts.is_undecided[row]:
            reason = Reason.UNDECIDED
        return Verdict(criterion.id, outcome, reason, credit, criterion.points, evidence)

    @cached_property
    def _counts(self) -> list[_Counts]:
        return [
            _Counts(
                tally.passed[:, 0].tolist(),
                tally.tried.tolist(),
                tally.drawn.tolist(),
                tally.median.tolist(),
                tally.find_finite().tolist(),
                cleared.argmax(axis=1).tolist(),
                np.asarray(cleared.any(axis=1)).tolist(),
                (self.is_open & _find_open(cleared, undecided)).tolist(),
            )
            for tally, (cleared, undecided) in zip(self.tallies, self.decisions, strict=True)
        ]


class _Counts(NamedTuple):
    """A tally and its decisions as plain lists, from which verdicts are made much faster.

    `passed` is of the first level, `best` the place of the best cleared level if one is cleared.
    """

    passed: list[int]
    tried: list[int]
    drawn: list[int]
    median: list[float]
    is_judged: list[bool]
    best: list[int]
    is_cleared: list[bool]
    is_undecided: list[bool]


def _make_ungradable(criterion: MeasuredCriterion, *, is_undefined: bool) -> Verdict:
    """The verdict where an answer gives no finite numbers."""
    reason = Reason.UNDEFINED if is_undefined else Reason.NOT_FINITE
    return Verdict(criterion.id, Outcome.UNGRADABLE, reason, _ZERO, criterion.points)


def _choose_outcome(credit: Decimal, evidence: Evidence) -> tuple[Outcome, Reason]:
    if credit == _ONE:
        return Outcome.MET, Reason.HOLDS
    if credit > _ZERO:
        return Outcome.PARTLY_MET, Reason.LOWER_LEVEL
    if evidence.share is not None and evidence.share >= 0.5:
        return Outcome.NOT_MET, Reason.TOO_FEW_KEY_SETS
    return Outcome.NOT_MET, Reason.OUTSIDE_TOLERANCE


def _make_evidence(tally: Tally, counts: _Counts, row: int, scaling: Scaling) -> Evidence:
    level, threshold = tally.criterion.levels[0], tally.thresholds[0]
    measured = to_nine_digits(counts.median[row])
    is_floor = level.at_least is not None
    if threshold is None:
        return Evidence(measured, level.bound, is_floor, scaling=scaling)
    passed, tried = counts.passed[row], counts.tried[row]
    share, interval = _compute_shown_share(threshold, passed, tried)
    return Evidence(
        measured,
        level.bound,
        is_floor,
        share=share,
        share_needed=threshold.share,
        interval=interval,
        key_sets=tried,
        drawn=counts.drawn[row],
        scaling=scaling,
    )


# Most answers pass on all key sets or on none.
@lru_cache(maxsize=4096)
def _compute_shown_share(threshold: Threshold, passed: int, tried: int) -> tuple[float, Interval]:
    interval = threshold.compute_interval(passed, tried)
    shown = Interval(to_nine_digits(interval.low), to_nine_digits(interval.high))
    return to_nine_digits(passed / tried), shown


def measure(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> Measurements:
    """Measure what answers do, on as many key sets as it takes to decide.

    What is too large to be computed with is measured at a smaller size.
    """
    environment, is_saturated = scale_down_answers(
        environment, list_saturating_fields(question), SATURATED_EXPONENT
    )
    tallies, decisions, is_open = _tally(question, criteria, environment, context)
    answers = len(is_open)
    scaling = [Scaling.NONE] * answers
    if is_saturated.any():
        shrunk = np.broadcast_to(is_saturated, (answers,))
        scaling = [Scaling.SATURATED if each else Scaling.NONE for each in shrunk]
    if all(tally.find_finite().all() for tally in tallies):
        is_undefined = np.zeros((answers, len(tallies)), dtype=bool)
        return Measurements(tallies, decisions, is_open, scaling, is_undefined)
    overflowing = _tally_smaller(question, environment, context, tallies, is_open)
    if len(overflowing):
        decisions = [each.decide() for each in tallies]
    for row in overflowing:
        scaling[row] = Scaling.OVERFLOW
    is_undefined = _find_undefined(question, environment, context, tallies)
    return Measurements(tallies, decisions, is_open, scaling, is_undefined)


def _tally_smaller(
    question: Question,
    environment: Environment,
    context: SamplingContext,
    tallies: Sequence[Tally],
    is_open: Flags,
) -> NDArray[np.intp]:
    """Count again what has no finite value but has one at a smaller size; returns these answers."""
    is_finite = _find_finite(tallies)
    rows = np.flatnonzero(~is_finite.all(axis=1))
    few = _select_at_size(question, environment, rows, OVERFLOW_EXPONENT)
    again, _, is_open_again = _tally(question, [each.criterion for each in tallies], few, context)
    helped = np.flatnonzero((_find_finite(again) & ~is_finite[rows]).any(axis=1))
    for tally, other in zip(tallies, again, strict=True):
        tally.replace(rows[helped], other, helped)
    is_open[rows[helped]] = is_open_again[helped]
    return rows[helped]


def _find_undefined(
    question: Question,
    environment: Environment,
    context: SamplingContext,
    tallies: Sequence[Tally],
) -> Flags:
    """What has no value by which criterion, and would have none if all numbers were small."""
    is_undefined = ~_find_finite(tallies)
    rows = np.flatnonzero(is_undefined.any(axis=1))
    if len(rows):
        few = _select_at_size(question, environment, rows, _SMALL_EXPONENT)
        again, *_ = _tally(question, [each.criterion for each in tallies], few, context)
        is_undefined[rows] &= ~_find_finite(again)
    return is_undefined


def _select_at_size(
    question: Question, environment: Environment, rows: NDArray[np.intp], largest_exponent: int
) -> Environment:
    """Some of the answers, all of their arrays shrunk to a size."""
    names = [field.name for field in question.fields]
    return scale_down_answers(select_rows(environment, rows), names, largest_exponent)[0]


def _find_finite(tallies: Sequence[Tally]) -> Flags:
    """Which answers have a value by which criterion, of shape (answers, criteria)."""
    return np.stack([each.find_finite() for each in tallies], axis=1)


def _tally(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> tuple[tuple[Tally, ...], list[tuple[Flags, Flags]], Flags]:
    """Count key sets until every level is decided; also tells which answers stay open."""
    with borrow_buffers() as buffers:
        return _tally_in(buffers, question, criteria, environment, context)


def _tally_in(
    buffers: KeptBuffers,
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> tuple[tuple[Tally, ...], list[tuple[Flags, Flags]], Flags]:
    answers = count_answers(environment)
    nodes = [each.measure for each in criteria]
    plan = plan_for(question, nodes)
    tallies = tuple(Tally(each, answers, question.key_sets) for each in criteria)
    is_open = np.ones(answers, dtype=bool)
    waiting: NDArray[np.intp] | None = None
    decisions: list[tuple[Flags, Flags]] = []
    first = 0
    environment = replace_buffers(environment, buffers)
    for last in question.key_sets.counts if question.key_sets else (1,):
        source = context.source(first, last) if question.key_sets else None
        count = answers if waiting is None else len(waiting)
        for batch in split_into_batches(plan, answers=count, key_sets=last - first):
            rows = batch if waiting is None else waiting[batch]
            few = environment if count == answers == 1 else select_rows(environment, rows)
            buffers.restart()
            seen = observe(question, few, nodes, source)
            for tally, measured in zip(tallies, seen.values, strict=True):
                tally.add(measured, seen.kept, rows, is_first=first == 0)
        decisions = [tally.decide() for tally in tallies]
        is_open &= np.any([_find_open(*each) for each in decisions], axis=0)
        if not is_open.any():
            break
        waiting = np.flatnonzero(is_open)
        first = last
    return tallies, decisions, is_open


def _find_open(cleared: Flags, undecided: Flags) -> Flags:
    """Answers of which further key sets could still change the verdict by one criterion.

    That is where the best level that is not missed is undecided rather than cleared.
    """
    if not undecided.any():
        return np.zeros(len(undecided), dtype=bool)
    best = (cleared | undecided).argmax(axis=1)
    return np.asarray(undecided[np.arange(len(best)), best])
