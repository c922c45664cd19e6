"""Criteria measured on key sets: answers in, verdicts out, for many answers at once."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.tallies import Tally, get_scale
from grader.engine.question import MeasuredCriterion, Question
from grader.engine.sample.context import (
    NONE_SHRUNK,
    OVERFLOW_EXPONENT,
    SATURATED_EXPONENT,
    SamplingContext,
    count_answers,
    scale_down_answers,
    split_into_batches,
    to_nine_digits,
)
from grader.engine.sample.observe import observe, select_rows
from grader.engine.sample.plans import list_saturating_fields, plan_for
from grader.formula.eval.buffers import KeptBuffers, borrow_buffers
from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]

_ZERO = Decimal(0)

# Numbers below this power of two are small: they do not overflow.
_SMALL_EXPONENT = 1


@dataclass(frozen=True, slots=True)
class Measurements:
    """What answers did by some criteria: the credit of each, and the verdict of any.

    `scaling` tells which answers were judged at a smaller size. `undefined` has the row and column
    of what has no value at any size.
    """

    tallies: tuple[Tally, ...]
    scaling: Sequence[Scaling]
    undefined: Set[tuple[int, int]]

    def get_credit(self, row: int, column: int) -> tuple[Decimal, Decimal]:
        """The credit that is not ruled out, then the one awarded."""
        tally = self.tallies[column]
        if not tally.has_value(row):
            return _ZERO, _ZERO
        ruling = tally.rule(row)
        return ruling.possible, ruling.credit

    def make_verdict(self, row: int, column: int) -> Verdict:
        """The verdict on one answer by one criterion."""
        tally = self.tallies[column]
        criterion, count = tally.scale.criterion, tally.counts[row]
        if not count.has_value:
            reason = Reason.UNDEFINED if (row, column) in self.undefined else Reason.NOT_FINITE
            return Verdict(criterion.id, Outcome.UNGRADABLE, reason, _ZERO, criterion.points)
        ruling = tally.rule(row)
        # The evidence speaks of the best level: that is what the student wants to reach.
        level, threshold = criterion.levels[0], tally.scale.thresholds[0]
        is_shared = threshold is not None
        evidence = Evidence(
            to_nine_digits(count.median),
            level.bound,
            level.at_least is not None,
            ruling.share,
            threshold.share if threshold is not None else None,
            ruling.interval,
            count.tried if is_shared else None,
            count.drawn if is_shared else None,
            scaling=self.scaling[row],
        )
        return Verdict(
            criterion.id, ruling.outcome, ruling.reason, ruling.credit, criterion.points, evidence
        )


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
    tallies = _tally(question, criteria, environment, context)
    answers = len(tallies[0].counts)
    scaling = [Scaling.NONE] * answers
    if is_saturated is not NONE_SHRUNK:
        scaling = [Scaling.SATURATED if each else Scaling.NONE for each in is_saturated]
    rows = _list_rows_without_value(tallies)
    if not rows:
        return Measurements(tallies, scaling, frozenset())
    for row in _tally_smaller(question, environment, context, tallies, rows):
        scaling[row] = Scaling.OVERFLOW
    undefined = _find_undefined(question, environment, context, tallies)
    return Measurements(tallies, scaling, undefined)


def _list_rows_without_value(tallies: Sequence[Tally]) -> list[int]:
    """The answers that have no value by one of the criteria."""
    return sorted({row for tally in tallies for row in tally.counts if not tally.has_value(row)})


def _tally_smaller(
    question: Question,
    environment: Environment,
    context: SamplingContext,
    tallies: Sequence[Tally],
    rows: Sequence[int],
) -> list[int]:
    """Count again what has no finite value but has one at a smaller size; returns these answers."""
    few = _select_at_size(question, environment, rows, OVERFLOW_EXPONENT)
    again = _tally(question, [each.scale.criterion for each in tallies], few, context)
    helped = [
        (row, place)
        for place, row in enumerate(rows)
        if any(
            new.has_value(place) and not old.has_value(row)
            for old, new in zip(tallies, again, strict=True)
        )
    ]
    for row, place in helped:
        for old, new in zip(tallies, again, strict=True):
            old.counts[row] = new.counts[place]
    return [row for row, _ in helped]


def _find_undefined(
    question: Question,
    environment: Environment,
    context: SamplingContext,
    tallies: Sequence[Tally],
) -> set[tuple[int, int]]:
    """What has no value by which criterion, and would have none if all numbers were small."""
    rows = _list_rows_without_value(tallies)
    if not rows:
        return set()
    few = _select_at_size(question, environment, rows, _SMALL_EXPONENT)
    again = _tally(question, [each.scale.criterion for each in tallies], few, context)
    return {
        (row, column)
        for place, row in enumerate(rows)
        for column, (old, new) in enumerate(zip(tallies, again, strict=True))
        if not old.has_value(row) and not new.has_value(place)
    }


def _select_at_size(
    question: Question, environment: Environment, rows: Sequence[int], largest_exponent: int
) -> Environment:
    """Some of the answers, all of their arrays shrunk to a size."""
    names = [field.name for field in question.fields]
    return scale_down_answers(select_rows(environment, np.array(rows)), names, largest_exponent)[0]


def _tally(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> tuple[Tally, ...]:
    """Count key sets until every level is decided, or all have been drawn."""
    with borrow_buffers() as buffers:
        return _tally_in(buffers, question, criteria, environment, context)


def _tally_in(
    buffers: KeptBuffers,
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> tuple[Tally, ...]:
    nodes = [each.measure for each in criteria]
    plan = plan_for(question, nodes)
    tallies = tuple([Tally(get_scale(question, each)) for each in criteria])
    answers = count_answers(environment)
    waiting: Sequence[int] = range(answers)
    first = 0
    for last in question.key_sets.counts if question.key_sets else (1,):
        source = context.source(first, last) if question.key_sets else None
        for batch in split_into_batches(plan, answers=len(waiting), key_sets=last - first):
            rows = waiting[batch]
            few = environment
            if len(rows) < answers:
                few = select_rows(environment, batch if first == 0 else np.array(rows))
            buffers.restart()
            seen = observe(question, few, nodes, source, buffers)
            for tally, measured in zip(tallies, seen.values, strict=True):
                tally.add(measured, seen.kept, rows)
        waiting = [row for row in waiting if any(tally.rule(row).is_open for tally in tallies)]
        if not waiting:
            break
        first = last
    return tallies
