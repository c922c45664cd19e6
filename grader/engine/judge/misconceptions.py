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
from grader.engine.sample.context import SATURATED_EXPONENT, SamplingContext, scale_down_answers
from grader.engine.sample.observe import observe
from grader.engine.sample.plans import find_inputs, list_saturating_fields
from grader.formula.eval.evaluate import Environment

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

    The first case is its own variant, which `environment` holds. `credits` has all criteria.
    """

    environment: Environment
    cases: Sequence[JudgeCase]
    missed: Set[str]
    credits: Mapping[str, Decimal]
    is_numbers: bool


def find_misconceptions(
    question: Question, answer: MissedAnswer, context: SamplingContext
) -> tuple[RecognisedMisconception, ...]:
    """The misconceptions that a single answer shows, in the rubric's order.

    Each missed criterion is explained once, by the first that fits.
    """
    found = []
    unexplained = set(answer.missed)
    candidates = [
        each
        for each in question.misconceptions
        if answer.missed & set(each.about or answer.missed)
        and (answer.is_numbers or not each.numbers_only)
    ]
    for misconception in _select_by_condition(question, candidates, answer.environment, context):
        explains = unexplained & set(misconception.about or answer.missed)
        if not explains:
            continue
        factor = _find_passing_factor(question, misconception, answer, context)
        if factor is None:
            continue
        found.append(RecognisedMisconception(misconception.id, misconception.say, factor))
        unexplained -= explains
    return tuple(found)


def _select_by_condition(
    question: Question,
    candidates: Sequence[Misconception],
    environment: Environment,
    context: SamplingContext,
) -> list[Misconception]:
    """Those whose condition holds on nearly all key sets, or that have none."""
    conditions = [each.when for each in candidates if each.when is not None]
    source = context.source(0, question.key_sets.counts[0]) if question.key_sets else None
    # What is too large to compute with is looked at as it was judged: at a smaller size.
    environment, _ = scale_down_answers(
        environment, list_saturating_fields(question), SATURATED_EXPONENT
    )
    # All conditions are observed together, because they share what they are computed from.
    seen = observe(question, environment, conditions, source)
    shares = iter([_compute_share(holds, seen.kept) for holds in seen.values])
    return [each for each in candidates if each.when is None or next(shares) >= _NEARLY_ALL]


def _compute_share(holds: Array, kept: Array | None) -> float:
    if kept is not None and holds.shape[1] > 1:
        holds = holds[kept]
    return float(holds.mean()) if holds.size else 0.0


def _find_passing_factor(
    question: Question,
    misconception: Misconception,
    answer: MissedAnswer,
    context: SamplingContext,
) -> float | None:
    """The first factor at which the changed answer earns everything, None where there is none.

    Without anything to change there is nothing to try: the factor is 1.
    """
    if not misconception.passes:
        return 1.0
    affected = list_affected(question, misconception)
    if not affected or not _are_needs_met(affected, answer.credits):
        return None
    own, *others = answer.cases
    tries = misconception.tries or (1.0,)
    mended = _mend_cases(question, misconception, affected, [own] * len(tries), tries)
    # Most factors fail plainly on the student's own variant, and the first that does not will do.
    candidates = _list_hopeful(question, affected, mended, context)
    for group in _group(candidates):
        passed = _judge_mended(question, [mended[place] for place in group], context)
        for factor in (tries[place] for place, passes in zip(group, passed, strict=True) if passes):
            changed = _mend_cases(question, misconception, affected, others, [factor] * len(others))
            if all(_judge_mended(question, changed, context)):
                return factor
    return None


def _group(places: Sequence[int]) -> Iterator[Sequence[int]]:
    """Groups that double in size: what comes early is cheap, and all together take few calls."""
    size = 1
    while places:
        yield places[:size]
        places, size = places[size:], 2 * size


def _list_hopeful(
    question: Question,
    affected: Sequence[SampledCriterion],
    cases: Sequence[JudgeCase],
    context: SamplingContext,
) -> list[int]:
    """The places of the cases that may earn everything."""
    measured = [each for each in affected if isinstance(each, MeasuredCriterion)]
    environment = stack_fixed(question, cases, measured)
    is_hopeless = find_hopeless(question, measured, environment, context)
    return [place for place in range(len(cases)) if not is_hopeless[place]]


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


def _mend_cases(
    question: Question,
    misconception: Misconception,
    affected: Sequence[SampledCriterion],
    cases: Sequence[JudgeCase],
    factors: Sequence[float],
) -> list[JudgeCase]:
    """Every case with its answer changed by its factor."""
    if not cases:
        return []
    changed = compute_mended(question, misconception, stack_cases(cases), factors)
    ids = frozenset(each.id for each in affected)
    return [
        replace(
            case,
            arrays={**case.arrays, **{name: values[[row]] for name, values in changed.items()}},
            criteria=ids if case.criteria is None else case.criteria & ids,
        )
        for row, case in enumerate(cases)
    ]


def _judge_mended(
    question: Question, cases: Sequence[JudgeCase], context: SamplingContext
) -> list[bool]:
    """For every case whether it earns everything by the criteria that it counts for."""
    full = [True] * len(cases)
    for finding in judge_cases(question, cases, context):
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
