"""Known wrong ideas, recognised by what an answer does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.judge.cases import JudgeCase, stack_cases
from grader.engine.judge.hopeless import find_hopeless
from grader.engine.judge.trials import judge_cases, stack_fixed
from grader.engine.question import (
    MeasuredCriterion,
    Misconception,
    PredictedCriterion,
    Question,
    SampledCriterion,
)
from grader.engine.sample.context import (
    SATURATED_EXPONENT,
    SamplingContext,
    scale_down_answers,
    split_into_batches,
)
from grader.engine.sample.observe import observe, select_rows
from grader.engine.sample.plans import find_inputs, list_saturating_fields, plan_for
from grader.formula.eval.buffers import borrow_buffers
from grader.formula.eval.evaluate import Environment
from grader.formula.typed.tree import Node

Array = NDArray[Any]

# A condition must hold on this share of the key sets to count as what the answer does.
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class RecognisedMisconception:
    """A misconception that an answer shows; `factor` is the first that would have passed."""

    id: str
    say: str
    factor: float


@dataclass(frozen=True, slots=True)
class MissedAnswer:
    """An answer that missed something, and the cases that it was judged by.

    The first case is its own variant. `credits` has all criteria.
    """

    cases: Sequence[JudgeCase]
    missed: Set[str]
    credits: Mapping[str, Decimal]
    is_numbers: bool

    def list_explained(self, misconception: Misconception) -> Set[str]:
        """The missed criteria that a misconception would explain."""
        return self.missed & set(misconception.about) if misconception.about else self.missed


def find_misconceptions(
    question: Question, answers: Sequence[MissedAnswer], context: SamplingContext
) -> list[tuple[RecognisedMisconception, ...]]:
    """The misconceptions that each answer shows, in the rubric's order.

    Each missed criterion is explained once, by the first that fits.
    """
    found: list[list[RecognisedMisconception]] = [[] for _ in answers]
    unexplained = [set(each.missed) for each in answers]
    for misconception, rows in _select_by_condition(question, answers, context):
        rows = [
            row for row in rows if unexplained[row] & answers[row].list_explained(misconception)
        ]
        some = [answers[row] for row in rows]
        factors = _find_passing_factors(question, misconception, some, context)
        for row, factor in zip(rows, factors, strict=True):
            if factor is not None:
                shown = RecognisedMisconception(misconception.id, misconception.say, factor)
                found[row].append(shown)
                unexplained[row] -= answers[row].list_explained(misconception)
    return [tuple(each) for each in found]


def _select_by_condition(
    question: Question, answers: Sequence[MissedAnswer], context: SamplingContext
) -> Iterator[tuple[Misconception, list[int]]]:
    """Each misconception with the rows of the answers that may show it.

    Its condition holds there on nearly all key sets, if it has one.
    """
    candidates = {
        each.id: [row for row, answer in enumerate(answers) if _may_show(answer, each)]
        for each in question.misconceptions
    }
    conditions = [
        each.when for each in question.misconceptions if candidates[each.id] and each.when
    ]
    shares = iter(_compute_shares(question, conditions, answers, context))
    for each in question.misconceptions:
        rows = candidates[each.id]
        if rows and each.when:
            share = next(shares)
            rows = [row for row in rows if share[row] >= _NEARLY_ALL]
        if rows:
            yield each, rows


def _may_show(answer: MissedAnswer, misconception: Misconception) -> bool:
    is_sent_so = answer.is_numbers or not misconception.numbers_only
    return is_sent_so and bool(answer.list_explained(misconception))


def _compute_shares(
    question: Question,
    conditions: Sequence[Node],
    answers: Sequence[MissedAnswer],
    context: SamplingContext,
) -> Array:
    """On which share of the key sets a condition holds, of shape (conditions, answers)."""
    key_sets = question.key_sets.counts[0] if question.key_sets else 1
    source = context.source(0, key_sets) if question.key_sets else None
    # What is too large to compute with is looked at as it was judged: at a smaller size.
    environment, _ = scale_down_answers(
        stack_cases([each.cases[0] for each in answers]),
        list_saturating_fields(question),
        SATURATED_EXPONENT,
    )
    shares = np.zeros((len(conditions), len(answers)))
    plan = plan_for(question, conditions)
    with borrow_buffers() as buffers:
        for rows in split_into_batches(plan, answers=len(answers), key_sets=key_sets):
            buffers.restart()
            # All conditions are observed together, because they share what they are computed from.
            seen = observe(question, select_rows(environment, rows), conditions, source, buffers)
            for line, holds in zip(shares, seen.values, strict=True):
                line[rows] = _compute_share(holds, seen.kept)
    return shares


def _compute_share(holds: Array, kept: Array | None) -> Array:
    """For every answer the share of the key sets that count; zero where none does."""
    if kept is None or holds.shape[1] == 1:
        return np.asarray(holds.mean(axis=1))
    return np.asarray((holds & kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1))


def _find_passing_factors(
    question: Question,
    misconception: Misconception,
    answers: Sequence[MissedAnswer],
    context: SamplingContext,
) -> list[float | None]:
    """For each answer the first factor at which, changed, it earns everything; None without one.

    Without anything to change there is nothing to try: the factor is 1.
    """
    if not misconception.passes:
        return [1.0] * len(answers)
    found: list[float | None] = [None] * len(answers)
    affected = list_affected(question, misconception)
    rows = [
        row
        for row, each in enumerate(answers)
        if affected and _are_needs_met(affected, each.credits)
    ]
    owns = [answers[row].cases[0] for row in rows]
    # Most factors fail plainly on the student's own variant, and the first that does not will do.
    hopeful = _list_hopeful_factors(question, misconception, affected, owns, context)
    waiting = {row: factors for row, factors in zip(rows, hopeful, strict=True) if factors}
    size = 1
    while waiting:
        # Groups double in size: what comes early is cheap, and all together take few calls.
        group = [(row, factor) for row, factors in waiting.items() for factor in factors[:size]]
        tried = [(answers[row].cases[0], factor) for row, factor in group]
        passed = _judge_mended(question, misconception, affected, tried, context)
        for (row, factor), passes in zip(group, passed, strict=True):
            if passes and found[row] is None:
                others = [(each, factor) for each in answers[row].cases[1:]]
                if all(_judge_mended(question, misconception, affected, others, context)):
                    found[row] = factor
        waiting = {
            row: factors[size:]
            for row, factors in waiting.items()
            if found[row] is None and len(factors) > size
        }
        size *= 2
    return found


def _list_hopeful_factors(
    question: Question,
    misconception: Misconception,
    affected: Sequence[SampledCriterion],
    cases: Sequence[JudgeCase],
    context: SamplingContext,
) -> list[list[float]]:
    """For each case the factors at which it may earn everything."""
    if not cases:
        return []
    tries = misconception.tries or (1.0,)
    measured = [each for each in affected if isinstance(each, MeasuredCriterion)]
    environment = stack_fixed(question, cases, measured)
    spread = select_rows(environment, np.repeat(np.arange(len(cases)), len(tries)))
    mended = compute_mended(question, misconception, spread, tries * len(cases))
    placed = {name: values[:, None] for name, values in mended.items()}
    changed = replace(spread, values={**spread.values, **placed})
    is_hopeful = ~find_hopeless(question, measured, changed, context)
    return [
        [factor for factor, is_fine in zip(tries, line, strict=True) if is_fine]
        for line in is_hopeful.reshape(len(cases), len(tries))
    ]


def list_affected(question: Question, misconception: Misconception) -> list[SampledCriterion]:
    """The criteria that depend on what a misconception changes."""
    changed = set(misconception.passes)
    return [
        each
        for each in question.criteria
        if isinstance(each, MeasuredCriterion | PredictedCriterion)
        and find_inputs(question, each) & changed
    ]


def _are_needs_met(affected: Sequence[SampledCriterion], credits: Mapping[str, Decimal]) -> bool:
    """Whether what the affected criteria need besides each other has earned some credit."""
    ids = {each.id for each in affected}
    return all(each.needs is None or each.needs in ids or credits[each.needs] for each in affected)


def _judge_mended(
    question: Question,
    misconception: Misconception,
    affected: Sequence[SampledCriterion],
    tried: Sequence[tuple[JudgeCase, float]],
    context: SamplingContext,
) -> list[bool]:
    """For every case, changed by its factor, whether it earns everything that the change affects.

    That is by the criteria that the case counts for.
    """
    if not tried:
        return []
    cases, factors = zip(*tried, strict=True)
    changed = compute_mended(question, misconception, stack_cases(cases), factors)
    ids = frozenset(each.id for each in affected)
    mended = [
        replace(
            case,
            arrays={**case.arrays, **{name: values[[row]] for name, values in changed.items()}},
            criteria=ids if case.criteria is None else case.criteria & ids,
        )
        for row, case in enumerate(cases)
    ]
    full = [True] * len(mended)
    for finding in judge_cases(question, mended, context):
        full[finding.place] &= finding.credit[1] == 1.0
    return full


def compute_mended(
    question: Question,
    misconception: Misconception,
    environment: Environment,
    factors: Sequence[float],
) -> dict[str, Array]:
    """The fields that a misconception changes, of shape (answers, …), each with its factor."""
    known = {**environment.values, "t": np.array(factors)[:, None]}
    nodes = tuple(misconception.passes.values())
    seen = observe(question, Environment(known, environment.indices), nodes, None)
    return {
        name: np.broadcast_to(values[:, 0], (len(factors), *values.shape[2:]))
        for name, values in zip(misconception.passes, seen.values, strict=True)
    }
