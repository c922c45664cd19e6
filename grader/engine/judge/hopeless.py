"""Answers that cannot earn everything any more, found on the first few key sets.

This is no estimate. A level whose share allows for, say, nine failures of 2 000 is lost with the
tenth, whatever the other key sets would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.judge.tallies import count_within, find_finite_rows, find_threshold
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.engine.random.keysets import KeySets
from grader.engine.sample.context import (
    OVERFLOW_EXPONENT,
    SATURATED_EXPONENT,
    SamplingContext,
    count_answers,
    scale_down_answers,
    split_into_batches,
)
from grader.engine.sample.observe import observe, select_rows
from grader.engine.sample.plans import list_saturating_fields, plan_for
from grader.formula.eval.buffers import borrow_buffers
from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]
Flags = NDArray[np.bool_]

# More key sets than this share of the first look would save too little.
_MAX_SHARE = 0.25


def find_hopeless(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    context: SamplingContext,
) -> Flags:
    """(answers,) whether `measure` would certainly deny full credit by one of the criteria."""
    is_hopeless = np.zeros(count_answers(environment), dtype=bool)
    key_sets = question.key_sets
    if key_sets is None:
        return is_hopeless
    allowed = [_count_allowed_failures(each, key_sets) for each in criteria]
    # What misses plainly misses on nearly all key sets.
    tried = min(allowed, default=0) * 5 // 4 + 16
    if not criteria or tried > _MAX_SHARE * key_sets.counts[0]:
        return is_hopeless
    environment, _ = scale_down_answers(
        environment, list_saturating_fields(question), SATURATED_EXPONENT
    )
    source = context.source(0, tried)
    nodes = [each.measure for each in criteria]
    plan = plan_for(question, nodes)
    with borrow_buffers() as buffers:
        for rows in split_into_batches(plan, answers=len(is_hopeless), key_sets=tried):
            buffers.restart()
            seen = observe(question, select_rows(environment, rows), nodes, source, buffers)
            for criterion, most, measured in zip(criteria, allowed, seen.values, strict=True):
                # What is made from all key sets together cannot be foreseen from a few.
                if measured.shape[1] > 1:
                    failed = _count_failures(criterion, measured, seen.kept)
                    is_hopeless[rows] |= (failed > most) & find_finite_rows(measured)
    # What overflows on some key set is judged again at a smaller size, where it may do better.
    names = [field.name for field in question.fields]
    return is_hopeless & ~scale_down_answers(environment, names, OVERFLOW_EXPONENT)[1]


def _list_full_levels(criterion: MeasuredCriterion) -> list[Level]:
    return [each for each in criterion.levels if each.credit == 1]


def _count_allowed_failures(criterion: MeasuredCriterion, key_sets: KeySets) -> int:
    """On how many key sets at the most full credit may be missed, however many are drawn."""
    drawn = key_sets.counts[-1]
    # Each threshold forgives the more failures, the more key sets there are.
    thresholds = [find_threshold(each, key_sets) for each in _list_full_levels(criterion)]
    shared = [each for each in thresholds if each is not None]
    return max((drawn - each.compute_limits(drawn).awarded_from for each in shared), default=0)


def _count_failures(
    criterion: MeasuredCriterion, measured: Array, kept: Array | None
) -> NDArray[np.intp]:
    """For every answer the number of key sets that count and miss all levels with full credit."""
    tried = measured.shape[1] if kept is None else np.count_nonzero(kept, axis=1)
    if kept is not None:
        measured = np.broadcast_to(measured, kept.shape)
    passed = [count_within(each, measured, kept) for each in _list_full_levels(criterion)]
    return np.asarray(tried - np.max(passed, axis=0))
