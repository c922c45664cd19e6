"""Issue 10, item 13: overflow, saturation and what has no value are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Outcome, Reason, Scaling, Verdict
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.feedback.sentences import explain
from grader.reading.fields import ArrayField
from grader.rubric.catalog import Rubric, read_rubric
from tests.support.rubrics import judge_of, judged, rubric_of, shipped

NOISY = "self-attention-and-transformers/c-i"

TEXT = """
id: angles
title: Directions and lengths
points: 3
prompt: x
draw:
  d: 3
  u: {gaussian: [d]}
given: [d, u]
answer:
  q: {shape: [d], symbols: [u]}
  p: {shape: [d], symbols: [u]}
criteria:
  - id: angle
    title: The direction of u
    points: 1
    measure: 1 - (q^T u)^2 / (norm(q)^2 norm(u)^2)
    in_words: the direction is off by {measured}; {needed} is allowed
    levels: [{within: 0.01, credit: 1}]
  - id: length
    title: A short vector
    points: 1
    measure: norm(q) / (1 + norm(q))
    in_words: the length is {measured}; {needed} is allowed
    levels: [{within: 0.5, credit: 1}]
  - id: beside
    title: Across
    points: 1
    measure: abs(p^T u) / norm(p)
    in_words: the part along u is {measured}; {needed} is allowed
    levels: [{within: 0.01, credit: 1}]
"""
RUBRIC = read_rubric(TEXT, path=Path("angles.yaml"), assignment="x", earlier={})
JUDGE = Judge(RUBRIC.question, DEVELOPMENT_KEYS)


def judged_angles(q: Any, p: Any = "u") -> Judgement:
    variant = JUDGE.variant("ada")
    (judgement,) = JUDGE.judge([JUDGE.prepare(variant, {"q": q, "p": p}, strict=True)])
    return judgement


def told(verdict: Verdict, rubric: Rubric = RUBRIC) -> str:
    return explain(verdict, rubric.question)


def test_a_zero_vector_is_not_told_that_its_numbers_are_too_large() -> None:
    judgement = judged_angles([0, 0, 0])
    angle = judgement.verdict("angle")

    assert (angle.outcome, angle.reason) == (Outcome.UNGRADABLE, Reason.UNDEFINED)
    assert angle.evidence.scaling is Scaling.NONE
    assert "zero is divided by zero" in told(angle)
    assert "large" not in told(angle)
    # Its length has a value, and nothing was shrunk on the way to it.
    assert judgement.verdict("length").outcome is Outcome.MET
    assert judgement.verdict("length").evidence.scaling is Scaling.NONE


def test_what_overflows_is_judged_at_a_smaller_size_and_told_so() -> None:
    judgement = judged_angles("1e200 u")
    angle = judgement.verdict("angle")

    assert angle.outcome is Outcome.MET
    assert angle.evidence.scaling is Scaling.OVERFLOW
    assert "the computation overflows" in told(angle)


def test_numbers_that_do_not_overflow_are_not_shrunk_however_large() -> None:
    angle = judged_angles("1e100 u").verdict("angle")

    assert angle.outcome is Outcome.MET
    assert angle.evidence.scaling is Scaling.NONE
    assert "scale" not in told(angle)


def test_a_huge_answer_is_not_shrunk_for_a_criterion_without_a_value() -> None:
    judgement = judged_angles("1e120 u", p=[0, 0, 0])

    assert judgement.verdict("beside").reason is Reason.UNDEFINED
    assert judgement.verdict("angle").evidence.scaling is Scaling.NONE


def test_one_answer_may_overflow_in_one_place_and_have_no_value_in_another() -> None:
    judgement = judged_angles("1e200 u", p=[0, 0, 0])

    assert judgement.verdict("angle").evidence.scaling is Scaling.OVERFLOW
    assert judgement.verdict("beside").reason is Reason.UNDEFINED


def test_what_still_overflows_at_a_smaller_size_is_too_large() -> None:
    text = TEXT.replace("norm(q) / (1 + norm(q))", "exp(norm(q)) / (1 + exp(norm(q)))")
    rubric = read_rubric(text, path=Path("angles.yaml"), assignment="x", earlier={})
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    sent = {"q": [1e5, 0, 0], "p": "u"}
    (judgement,) = judge.judge([judge.prepare(judge.variant("ada"), sent, strict=True)])
    length = judgement.verdict("length")

    assert (length.outcome, length.reason) == (Outcome.UNGRADABLE, Reason.NOT_FINITE)
    assert "too large" in told(length)
    assert judgement.verdict("angle").evidence.scaling is Scaling.NONE


@pytest.mark.parametrize("size", [1e13, 1e100, 1e307])
def test_a_query_beyond_saturation_is_told_of_rounding_and_not_of_overflow(size: float) -> None:
    weights = judged(NOISY, {"q": f"{size} (mu_a + mu_b)"}).verdict("weights")
    sentence = told(weights, rubric_of(NOISY))

    assert weights.outcome is Outcome.MET
    assert weights.evidence.scaling is Scaling.SATURATED
    assert "rounding errors would decide" in sentence
    assert "overflow" not in sentence


def test_a_query_that_a_softmax_can_do_with_is_judged_as_it_is() -> None:
    assert judged(NOISY, {"q": "1e9 (mu_a + mu_b)"}).verdict("weights").evidence.scaling is (
        Scaling.NONE
    )


@pytest.mark.parametrize(
    "rubric",
    [
        pytest.param(each, id=each.id)
        for each in shipped().rubrics()
        if any(isinstance(field, ArrayField) for field in each.question.fields)
    ],
)
def test_an_answer_of_zeros_is_never_told_of_large_numbers(rubric: Rubric) -> None:
    judge = judge_of(rubric.id)
    sent = dict(rubric.form.examples[0].answer)
    for field in rubric.question.fields:
        if isinstance(field, ArrayField):
            sent[field.name] = np.zeros(field.shape.axes).tolist()
    (judgement,) = judge.judge([judge.prepare(judge.variant("ada"), sent)])

    for verdict in judgement.verdicts:
        assert "large" not in told(verdict, rubric)
        assert verdict.evidence.scaling is Scaling.NONE
