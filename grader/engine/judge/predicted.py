"""Predicted numbers against what is measured, or against a closed form.

Predictions about an earlier answer are compared with what that answer does. Where its figures still
change with its length, because its softmax is not saturated, a longer multiple of it may stand for
it: then one and the same length for all numbers of the part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.question import PredictedCriterion, Question
from grader.engine.sample.context import (
    SLACK,
    SamplingContext,
    count_answers,
    split_into_batches,
    to_nine_digits,
)
from grader.engine.sample.observe import observe, select_rows
from grader.engine.sample.plans import is_sampled, plan_for
from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]

_ONE, _ZERO = Decimal(1), Decimal(0)

# How many lengths are measured between the shortest and the longest, both included, and how many
# are tried between two measured ones, where figures are taken to change evenly.
_MEASURED_LENGTHS = 7
_LENGTHS_BETWEEN = 16
#: In tolerances, how far a figure may be from that of the longest multiple. Below the first the
#: earlier answer is saturated, above the second a longer one would do something else altogether.
SATURATED_WITHIN, COMPARABLE_WITHIN = 1.0, 4.0


@dataclass(frozen=True, slots=True)
class Predictions:
    """How predicted numbers compare: verdicts by answer and criterion."""

    verdicts: Sequence[Sequence[Verdict]]

    def get_credit(self, row: int, column: int) -> tuple[Decimal, Decimal]:
        """The credit that is not ruled out, then the one awarded, which is the same."""
        credit = self.verdicts[row][column].credit
        return credit, credit

    def make_verdict(self, row: int, column: int) -> Verdict:
        """The verdict on one answer by one criterion."""
        return self.verdicts[row][column]


def compare_predictions(
    question: Question,
    criteria: Sequence[PredictedCriterion],
    environment: Environment,
    context: SamplingContext,
) -> Predictions:
    """Compare predicted numbers with what is measured or computed for every answer."""
    key_sets = question.key_sets.counts[0] if question.key_sets else 1
    plan = plan_for(question, [each.expected for each in criteria])
    lines: list[list[Verdict]] = []
    answers = count_answers(environment)
    for part in split_into_batches(plan, answers=answers, key_sets=key_sets):
        few = environment if answers == 1 else select_rows(environment, part)
        lines += _compare_batch(question, criteria, few, context)
    return Predictions(lines)


def _compare_batch(
    question: Question,
    criteria: Sequence[PredictedCriterion],
    environment: Environment,
    context: SamplingContext,
) -> list[list[Verdict]]:
    answers = count_answers(environment)
    predicted = np.stack([_get_numbers(environment, each.id, answers) for each in criteria])
    own = _measure(question, criteria, environment, context, 1.0)
    lengths = _list_lengths(question)
    longest, is_open = own, np.zeros(answers, dtype=bool)
    if len(lengths) > 1:
        longest = _measure(question, criteria, environment, context, lengths[-1])
        tolerances = np.array([each.tolerance for each in criteria])[:, None]
        travel = (np.abs(longest - own) / tolerances).max(axis=0)
        is_open = (travel > SATURATED_WITHIN) & (travel <= COMPARABLE_WITHIN)
    lines = []
    for row in range(answers):
        figures = own[:, row : row + 1]
        if is_open[row]:
            alone = select_rows(environment, slice(row, row + 1))
            between = [_measure(question, criteria, alone, context, each) for each in lengths[1:-1]]
            last = longest[:, row : row + 1]
            figures = _interpolate(np.concatenate([figures, *between, last], axis=1))
        lines.append(_judge_numbers(question, criteria, predicted[:, row], figures))
    return lines


def _get_numbers(environment: Environment, name: str, answers: int) -> Array:
    numbers = environment.values[name]
    assert isinstance(numbers, np.ndarray), "a number is never sampled"
    return np.broadcast_to(numbers[:, 0], (answers,))


def _list_lengths(question: Question) -> Array:
    """The multiples of the earlier answer that are measured; 1 alone where no other may count."""
    longest = question.uses.longest if question.uses else 1.0
    return np.geomspace(1.0, longest, _MEASURED_LENGTHS) if longest > 1 else np.ones(1)


def _measure(
    question: Question,
    criteria: Sequence[PredictedCriterion],
    environment: Environment,
    context: SamplingContext,
    length: float,
) -> Array:
    """The figures for a multiple of what is used, of shape (criteria, answers)."""
    source = context.source(0, question.key_sets.counts[0]) if question.key_sets else None
    scaled = _lengthen_used(question, environment, length)
    seen = observe(question, scaled, [each.expected for each in criteria], source)
    answers = count_answers(environment)
    return np.stack([np.broadcast_to(values[:, 0], (answers,)) for values in seen.values])


def _lengthen_used(question: Question, environment: Environment, length: float) -> Environment:
    if question.uses is None or length == 1.0:
        return environment
    values = dict(environment.values)
    for name in question.uses.reference:
        value = values[name]
        assert isinstance(value, np.ndarray), "an earlier answer is never sampled"
        values[name] = length * value
    return Environment(values, environment.indices)


def _interpolate(figures: Array) -> Array:
    """Figures (criteria, lengths) at further lengths between the measured ones."""
    places = np.arange(figures.shape[1])
    finer = np.linspace(0, places[-1], (len(places) - 1) * _LENGTHS_BETWEEN + 1)
    return np.stack([np.interp(finer, places, line) for line in figures])


def _judge_numbers(
    question: Question, criteria: Sequence[PredictedCriterion], predicted: Array, figures: Array
) -> list[Verdict]:
    """Judge the numbers of one answer at the length that is best for all of them together."""
    reach = np.array([each.tolerance * (1 + SLACK) for each in criteria])[:, None]
    is_right = np.abs(predicted[:, None] - figures) <= reach
    points = np.array([float(each.points) for each in criteria]) @ is_right
    best = int(points.argmax())
    return [
        _make_verdict(
            criterion,
            float(predicted[place]),
            figures[place],
            is_right=bool(is_right[place, best]),
            fits_another=bool(is_right[place].any()),
            is_exact=not is_sampled(question, criterion.expected),
        )
        for place, criterion in enumerate(criteria)
    ]


def _make_verdict(
    criterion: PredictedCriterion,
    predicted: float,
    figures: Array,
    *,
    is_right: bool,
    fits_another: bool,
    is_exact: bool,
) -> Verdict:
    if not np.isfinite(figures).all():
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.UNDEFINED, _ZERO, criterion.points)
    low, high = to_nine_digits(float(figures.min())), to_nine_digits(float(figures.max()))
    missed = Reason.INCONSISTENT if fits_another else Reason.OUTSIDE_TOLERANCE
    return Verdict(
        criterion.id,
        Outcome.MET if is_right else Outcome.NOT_MET,
        Reason.HOLDS if is_right else missed,
        _ONE if is_right else _ZERO,
        criterion.points,
        Evidence(
            measured=to_nine_digits(predicted),
            needed=criterion.tolerance,
            expected=Interval(low, high),
            is_exact=is_exact,
        ),
    )
