"""Cases to verdicts: what all the trials of a submission come to, by one criterion.

A formula is tried on several variants and, where a constant is declared large, at several sizes. It
must hold on every variant, and on each from some size on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple, Protocol

from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.engine.judge.cases import JudgeCase, stack_cases
from grader.engine.judge.measured import measure
from grader.engine.judge.predicted import compare_predictions
from grader.engine.question import MeasuredCriterion, Question, SampledCriterion
from grader.engine.sample.context import SamplingContext
from grader.engine.sample.observe import add_fixed_values
from grader.formula.eval.evaluate import Environment


class Judged(Protocol):
    """How answers came out by some criteria."""

    def get_credit(self, row: int, column: int) -> tuple[Decimal, Decimal]:
        """The credit that is not ruled out, then the one awarded, of one answer by a criterion."""
        ...

    def make_verdict(self, row: int, column: int) -> Verdict:
        """The verdict on one answer by one criterion."""
        ...


class Finding(NamedTuple):
    """How one case came out by one criterion.

    `place` is the place of the case among those that were judged together.
    """

    case: JudgeCase
    place: int
    criterion: str
    judged: Judged
    row: int
    column: int

    @property
    def credit(self) -> tuple[Decimal, Decimal]:
        """The credit that is not ruled out, then the one awarded.

        Findings are compared by it: what is certainly wrong comes before what is undecided.
        """
        return self.judged.get_credit(self.row, self.column)

    def make_verdict(self, reason: Reason | None) -> Verdict:
        """The verdict on this case, with a reason why it failed where others did not."""
        verdict = self.judged.make_verdict(self.row, self.column)
        if self.case.sizes.values and verdict.outcome is not Outcome.MET:
            evidence = verdict.evidence._replace(sizes=dict(self.case.sizes.values))
            verdict = verdict._replace(evidence=evidence)
        # What is undecided is looked at by a person, on whichever variant it is.
        if reason is None or verdict.reason is Reason.UNDECIDED:
            return verdict
        outcome = Outcome.PARTLY_MET if verdict.credit else Outcome.NOT_MET
        return verdict._replace(outcome=outcome, reason=reason)


def make_verdict(findings: Sequence[Finding]) -> Verdict:
    """The verdict on the trial that came out worst, by all findings of one submission."""
    if len(findings) == 1:
        return findings[0].make_verdict(None)
    by_trial = sorted(findings, key=lambda each: each.case.trial)
    trials = [list(each) for _, each in groupby(by_trial, key=lambda each: each.case.trial)]
    own, *others = map(_find_worst_from_some_size_on, trials)
    worst = min(others, key=lambda each: each.credit, default=own)
    if worst.credit < own.credit:
        return worst.make_verdict(Reason.NOT_GENERAL)
    is_better = any(each.credit > own.credit for each in trials[0])
    return own.make_verdict(Reason.NOT_FOR_EVERY_SIZE if is_better else None)


def _find_worst_from_some_size_on(findings: Sequence[Finding]) -> Finding:
    """The worst finding of those that remain when sizes too small for the claim are left out.

    Two sizes remain at least, or combinations of sizes would not be tried.
    """
    if len(findings) == 1:
        return findings[0]
    rungs = sorted({each.case.sizes.rung for each in findings})
    worst = [
        min((f for f in findings if f.case.sizes.rung >= start), key=lambda each: each.credit)
        for start in rungs[:-1] or rungs
    ]
    return max(worst, key=lambda each: each.credit)


def judge_cases(
    question: Question, cases: Sequence[JudgeCase], context: SamplingContext
) -> Iterator[Finding]:
    """Judge cases by every criterion that they count for and that needs no person."""
    measured, predicted = question.measured, question.predicted
    if places := _list_places(cases, measured):
        few = [cases[place] for place in places]
        environment = stack_fixed(question, few, measured)
        judged = measure(question, measured, environment, context)
        yield from _list_findings(cases, places, measured, judged)
    if places := _list_places(cases, predicted):
        environment = stack_cases([cases[place] for place in places])
        compared = compare_predictions(question, predicted, environment, context)
        yield from _list_findings(cases, places, predicted, compared)


def stack_fixed(
    question: Question, cases: Sequence[JudgeCase], criteria: Sequence[MeasuredCriterion]
) -> Environment:
    """Cases side by side, with what their variants alone say about some criteria."""
    return add_fixed_values(
        question,
        stack_cases(cases),
        [each.measure for each in criteria],
        [each.variant for each in cases],
    )


def _list_places(cases: Sequence[JudgeCase], criteria: Sequence[SampledCriterion]) -> list[int]:
    """The places of the cases that count for some of these criteria."""
    if not criteria:
        return []
    ids = {each.id for each in criteria}
    return [
        place for place, case in enumerate(cases) if case.criteria is None or case.criteria & ids
    ]


def _list_findings(
    cases: Sequence[JudgeCase],
    places: Sequence[int],
    criteria: Sequence[SampledCriterion],
    judged: Judged,
) -> Iterator[Finding]:
    for row, place in enumerate(places):
        case = cases[place]
        for column, criterion in enumerate(criteria):
            if case.criteria is None or criterion.id in case.criteria:
                yield Finding(case, place, criterion.id, judged, row, column)
