"""A filter before the judge: one answer on many variants at once, most of which it plainly fails.

It tries a few key sets only and passes on whatever these do not rule out. Each criterion rejects an
answer whose true share is the one that is needed in at most one case in 2 000, and better ones less
often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.judge.judge import Judge
from grader.engine.judge.tallies import count_within
from grader.engine.question import Level, MeasuredCriterion
from grader.engine.sample.context import SATURATED_EXPONENT, scale_down_answers, split_into_batches
from grader.engine.sample.observe import compute_fixed_values, observe, select_rows
from grader.engine.sample.plans import Plan, list_saturating_fields, plan_for
from grader.engine.sequential import compute_threshold
from grader.errors import FormulaError
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.reading.answer import Answer, Numbers
from grader.reading.large import choose_rungs, evaluate_formula

Array = NDArray[Any]
_Flags = NDArray[np.bool_]

#: Key sets that answers are tried on first.
KEY_SETS = 16


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Tells on which variants an answer may earn everything that is measured."""

    judge: Judge
    criteria: tuple[MeasuredCriterion, ...]

    @classmethod
    def of(cls, judge: Judge) -> Prefilter:
        """The sieve of a judge's question."""
        return cls(judge, judge.question.measured)

    def prepare(self, variants: Environment) -> Environment:
        """Variants side by side, with what depends on them alone computed once for all answers."""
        if not self.criteria:
            return variants
        return replace(variants, ready=compute_fixed_values(self._plan, variants))

    def sift(self, answer: Answer, variants: Environment) -> _Flags:
        """(variants,) whether the answer may earn everything there."""
        count = _count_variants(variants)
        maybe = np.ones(count, dtype=bool)
        if not self.criteria:
            return maybe
        placed = _place_answer(answer, variants, count)
        placed, _ = scale_down_answers(
            placed, list_saturating_fields(self.judge.question), SATURATED_EXPONENT
        )
        for part in split_into_batches(self._plan, answers=count, key_sets=self._sets):
            maybe[part] = self._sift(select_rows(placed, part))
        return maybe

    @property
    def _plan(self) -> Plan:
        return plan_for(self.judge.question, [each.measure for each in self.criteria])

    @property
    def _sets(self) -> int:
        key_sets = self.judge.question.key_sets
        return min(KEY_SETS, key_sets.counts[0]) if key_sets else 1

    def _sift(self, environment: Environment) -> _Flags:
        question = self.judge.question
        source = self.judge.context.source(0, self._sets) if question.key_sets else None
        seen = observe(question, environment, [each.measure for each in self.criteria], source)
        maybe = np.ones(_count_variants(environment), dtype=bool)
        for criterion, measured in zip(self.criteria, seen.values, strict=True):
            # What is made from all key sets together cannot be foreseen from a few.
            if source is None or measured.shape[1] > 1:
                maybe &= _may_hold(criterion.levels[0], measured, seen.kept)
        return maybe


def _count_variants(variants: Environment) -> int:
    """How many variants stand side by side."""
    values = [*variants.values.values(), *variants.indices.values()]
    return max((len(each) for each in values if isinstance(each, np.ndarray)), default=1)


def _place_answer(answer: Answer, variants: Environment, count: int) -> Environment:
    values = dict(variants.values)
    for name, value in answer.values.items():
        if isinstance(value, Numbers):
            values[name] = np.broadcast_to(value.array, (count, 1, *value.array.shape))
        elif isinstance(value, Formula):
            values[name] = _evaluate_or_nan(value, variants, count)
    return Environment(values, variants.indices, ready=variants.ready)


def _evaluate_or_nan(formula: Formula, variants: Environment, count: int) -> Array:
    try:
        # What is right from some size on is right at the largest.
        top = choose_rungs([formula], variants)[-1] if formula.large else 1.0
        value = evaluate_formula(formula, variants, dict.fromkeys(formula.large, top), finite=True)
    except FormulaError:
        # Where it is not finite somewhere, the judge looks at every single one.
        value = np.full((1, *formula.shape.axes), np.nan)
    return np.broadcast_to(value, (count, *value.shape[1:]))[:, None]


def _may_hold(level: Level, measured: Array, kept: Array | None) -> _Flags:
    """Whether a level is not missed for certain; what is not finite is left to the judge."""
    counted = None if measured.shape[1] == 1 else kept
    passed = count_within(level, np.where(np.isfinite(measured), measured, level.bound), counted)
    tried = measured.shape[1] if counted is None else counted.sum(axis=1)
    if level.share is None:
        return np.asarray(passed == tried)
    # There is one look here, at fewer key sets than the judge's first: its z is not the judge's.
    threshold = compute_threshold(
        level.share, (measured.shape[1],), is_filtered=counted is not None
    )
    return ~threshold.is_refused(passed, tried)
