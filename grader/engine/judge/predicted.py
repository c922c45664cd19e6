"""Predicted numbers against what is measured."""

from __future__ import annotations

from collections.abc import Sequence
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
from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]

ONE, ZERO = Decimal(1), Decimal(0)


def judge_predicted(
    question: Question,
    criteria: Sequence[PredictedCriterion],
    environment: Environment,
    ground: SamplingContext,
) -> list[list[Verdict]]:
    """Compare predicted numbers with what is measured, at every scale of what is used.

    For every answer one verdict for each criterion.
    """
    sets = question.key_sets.counts[0] if question.key_sets else 1
    lines: list[list[Verdict]] = []
    answers = count_answers(environment)
    for part in split_into_batches(question, answers=answers, key_sets=sets):
        few = environment if answers == 1 else select_rows(environment, part)
        measured = _measure_expected(question, criteria, few, ground)
        lines.extend(
            [
                _judge_number(
                    criterion, _number(few, criterion.id, row), measured[criterion.id][:, row]
                )
                for criterion in criteria
            ]
            for row in range(count_answers(few))
        )
    return lines


def _number(environment: Environment, name: str, row: int) -> float:
    numbers = environment.values[name]
    assert isinstance(numbers, np.ndarray), "a number is never sampled"
    return float(numbers[row, 0])


def _measure_expected(
    question: Question,
    criteria: Sequence[PredictedCriterion],
    environment: Environment,
    ground: SamplingContext,
) -> dict[str, Array]:
    """For every criterion what is measured, of shape (scales, answers)."""
    answers = count_answers(environment)
    source = ground.source(0, question.key_sets.counts[0]) if question.key_sets else None
    found: dict[str, list[Array]] = {criterion.id: [] for criterion in criteria}
    for scale in sorted({scale for criterion in criteria for scale in criterion.scales}):
        wanted = [criterion for criterion in criteria if scale in criterion.scales]
        scaled = _scale_used(question, environment, scale)
        seen = observe(question, scaled, [criterion.expected for criterion in wanted], source)
        for criterion, values in zip(wanted, seen.values, strict=True):
            found[criterion.id].append(np.broadcast_to(values[:, 0], (answers,)))
    return {name: np.stack(values) for name, values in found.items()}


def _scale_used(question: Question, environment: Environment, scale: float) -> Environment:
    if question.uses is None or scale == 1.0:
        return environment
    values = dict(environment.values)
    for name in question.uses.reference:
        value = values[name]
        assert isinstance(value, np.ndarray), "an earlier answer is never sampled"
        values[name] = scale * value
    return Environment(values, environment.indices)


def _judge_number(criterion: PredictedCriterion, predicted: float, spanned: Array) -> Verdict:
    low, high = float(spanned.min()), float(spanned.max())
    if not np.isfinite(spanned).all():
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.NOT_FINITE, ZERO, criterion.points)
    reach = criterion.tolerance * (1 + SLACK)
    is_right = low - reach <= predicted <= high + reach
    return Verdict(
        criterion.id,
        Outcome.MET if is_right else Outcome.NOT_MET,
        Reason.HOLDS if is_right else Reason.OUTSIDE_TOLERANCE,
        ONE if is_right else ZERO,
        criterion.points,
        Evidence(
            measured=to_nine_digits(predicted),
            needed=criterion.tolerance,
            expected=Interval(to_nine_digits(low), to_nine_digits(high)),
        ),
    )
