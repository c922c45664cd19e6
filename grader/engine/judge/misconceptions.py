"""Known wrong ideas, recognised by what an answer does."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.judge.measured import measure
from grader.engine.question import MeasuredCriterion, Misconception, Question
from grader.engine.sample.context import SamplingContext
from grader.engine.sample.observe import observe
from grader.formula.eval.evaluate import Environment, evaluate

Array = NDArray[Any]

# A condition must hold on this share of the key sets to count as what the answer does.
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class RecognisedMisconception:
    """A misconception that an answer shows; `factor` is the first that would have passed."""

    id: str
    say: str
    factor: float


def find_misconceptions(
    question: Question, environment: Environment, context: SamplingContext, missed: Set[str]
) -> tuple[RecognisedMisconception, ...]:
    """The misconceptions that a single answer shows, in the rubric's order.

    Each missed criterion is explained once, by the first that fits.
    """
    found = []
    unexplained = set(missed)
    candidates = [each for each in question.misconceptions if missed & set(each.about or missed)]
    for misconception in _select_by_condition(question, candidates, environment, context):
        explains = unexplained & set(misconception.about or missed)
        if not explains:
            continue
        factor = _find_passing_factor(question, misconception, environment, context)
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
    environment: Environment,
    context: SamplingContext,
) -> float | None:
    """The first factor at which the changed answer earns full credit, None where there is none.

    Without anything to change there is nothing to try: the factor is 1.
    """
    if not misconception.passes:
        return 1.0
    tries = misconception.tries or (1.0,)
    factors = np.array(tries)[:, None]
    known = Environment({**environment.values, "t": factors}, environment.indices)
    values = {**environment.values}
    values |= {name: evaluate(node, known) for name, node in misconception.passes.items()}
    repeated: dict[str, Any] = {
        name: np.repeat(value, len(tries), axis=0)
        if isinstance(value, np.ndarray) and len(value) == 1
        else value
        for name, value in values.items()
    }
    indices = {name: np.repeat(index, len(tries)) for name, index in environment.indices.items()}
    criteria = [
        each
        for each in question.criteria
        if isinstance(each, MeasuredCriterion)
        and (not misconception.about or each.id in misconception.about)
    ]
    if not criteria:
        return None
    seen = measure(question, criteria, Environment(repeated, indices), context)
    passes = (seen.compute_credits() == 1.0).all(axis=1)
    return tries[int(passes.argmax())] if passes.any() else None
