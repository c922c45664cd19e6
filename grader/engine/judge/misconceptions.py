"""Known wrong ideas, recognised by what an answer does."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.judge.measured import judge_measured
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

    @property
    def text(self) -> str:
        """What the student is told."""
        return self.say.replace("{t}", f"{self.factor:g}")


def find_misconceptions(
    question: Question, environment: Environment, ground: SamplingContext, missed: Set[str]
) -> tuple[RecognisedMisconception, ...]:
    """The misconceptions that a single answer shows, in the rubric's order.

    Each missed criterion is explained once, by the first that fits.
    """
    found = []
    unexplained = set(missed)
    for misconception in question.misconceptions:
        explains = unexplained & set(misconception.about or missed)
        if not explains:
            continue
        if misconception.when is not None and not _holds(
            question, misconception, environment, ground
        ):
            continue
        factor = _find_passing_factor(question, misconception, environment, ground)
        if factor is None:
            continue
        found.append(RecognisedMisconception(misconception.id, misconception.say, factor))
        unexplained -= explains
    return tuple(found)


def _holds(
    question: Question,
    misconception: Misconception,
    environment: Environment,
    ground: SamplingContext,
) -> bool:
    assert misconception.when is not None, "the caller looked"
    source = ground.source(0, question.key_sets.counts[0]) if question.key_sets else None
    seen = observe(question, environment, [misconception.when], source)
    (holds,) = seen.values
    if seen.kept is not None and holds.shape[1] > 1:
        holds = holds[seen.kept]
    return bool(holds.size) and bool(holds.mean() >= _NEARLY_ALL)


def _find_passing_factor(
    question: Question,
    misconception: Misconception,
    environment: Environment,
    ground: SamplingContext,
) -> float | None:
    """The first factor at which the changed answer earns full credit, None where there is none.

    Without anything to change there is nothing to try: the factor is 1.
    """
    if not misconception.passes:
        return 1.0
    tries = misconception.tries or (1.0,)
    factors = np.array(tries)[:, None]
    known = Environment({**environment.values, "t": factors}, environment.indices)
    changed = {
        name: np.repeat(changed, len(tries), axis=0) if len(changed) == 1 else changed
        for name, changed in (
            (name, evaluate(node, known)) for name, node in misconception.passes.items()
        )
    }
    values: dict[str, Any] = {
        name: np.repeat(value, len(tries), axis=0) if isinstance(value, np.ndarray) else value
        for name, value in environment.values.items()
    }
    indices = {name: np.repeat(index, len(tries)) for name, index in environment.indices.items()}
    criteria = [
        each
        for each in question.criteria
        if isinstance(each, MeasuredCriterion)
        and (not misconception.about or each.id in misconception.about)
    ]
    lines = judge_measured(question, criteria, Environment({**values, **changed}, indices), ground)
    for factor, line in zip(tries, lines, strict=True):
        if line and all(verdict.credit == 1 for verdict in line):
            return factor
    return None
