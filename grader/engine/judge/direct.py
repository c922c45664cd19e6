"""What needs no key sets: choices, written parts, scores from outside, and what needs what."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.engine.question import ChoiceCriterion, ExternalCriterion, Question, ReviewedCriterion
from grader.reading.answer import Answer, Choice, ExternalScore, Text

ONE, ZERO = Decimal(1), Decimal(0)


def judge_directly(
    criterion: ChoiceCriterion | ReviewedCriterion | ExternalCriterion, answer: Answer
) -> Verdict:
    """Judge one criterion by what was sent alone."""
    value = answer.values.get(criterion.id)
    match criterion:
        case ChoiceCriterion():
            assert isinstance(value, Choice), "a choice was read"
            is_right = value.options == criterion.correct
            return Verdict(
                criterion.id,
                Outcome.MET if is_right else Outcome.NOT_MET,
                Reason.HOLDS if is_right else Reason.WRONG_CHOICE,
                ONE if is_right else ZERO,
                criterion.points,
            )
        case ReviewedCriterion():
            reason = Reason.AWAITS_REVIEW if isinstance(value, Text) else Reason.NOT_SENT
            return Verdict(criterion.id, Outcome.PENDING, reason, ZERO, criterion.points)
        case ExternalCriterion():
            assert isinstance(value, ExternalScore), "a score was read"
            credit = value.points / criterion.points
            outcome = Outcome.MET if credit == 1 else Outcome.PARTLY_MET
            return Verdict(
                criterion.id,
                outcome if credit else Outcome.NOT_MET,
                Reason.SCORED_OUTSIDE,
                credit,
                criterion.points,
            )
        case _:
            assert_never(criterion)


def apply_needs(question: Question, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Take the credit of criteria whose condition, another criterion, earned none."""
    credits = {verdict.criterion: verdict.credit for verdict in verdicts}
    needs = {criterion.id: criterion.needs for criterion in question.criteria}
    result = []
    for verdict in verdicts:
        needed = needs[verdict.criterion]
        if needed is not None and not credits[needed] and verdict.credit:
            verdict = replace(
                verdict, outcome=Outcome.NOT_MET, reason=Reason.NEEDS_OTHER, credit=ZERO
            )
        result.append(verdict)
    return tuple(result)
