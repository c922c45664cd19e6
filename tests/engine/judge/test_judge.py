"""Levels, undecided shares, needs, and the laws that judging keeps."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.domain.verdicts import Outcome, Reason, Scaling, Verdict, combine
from grader.engine.judge.judge import Judge
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.sample.observe import observe
from grader.formula.formula import read_tree
from grader.rubric.catalog import read_rubric
from tests.support.rubrics import BANK, awarded, judge_of, judged, rubric_of, shown, submit

NOISY = "self-attention-and-transformers/c-i"
HEADS = "self-attention-and-transformers/d-i"


def with_levels(question: Question, criterion: str, *levels: Level) -> Question:
    changed = tuple(
        replace(each, levels=levels)
        if isinstance(each, MeasuredCriterion) and each.id == criterion
        else each
        for each in question.criteria
    )
    return replace(question, criteria=changed)


def verdict_of(question: Question, name: str, sent: dict[str, Any], criterion: str) -> Verdict:
    judge = Judge(question, DEVELOPMENT_KEYS, BANK)
    (judgement,) = judge.judge([submit(name, sent)], recognising=False)
    return judgement.verdict(criterion)


PAIRS = read_rubric(
    """
id: pairs
title: A matrix that is tried on pairs
points: 1
prompt: Keep the first of two values.
draw:
  d: 10
  A, B: {orthonormal_bases: [d, [3, 4]]}
given: [d, A, B]
key_sets:
  called: pairs
  draw: {x: {in_span: A}, y: {in_span: B}}
answer:
  M: {shape: [d, d], symbols: [A, B]}
criteria:
  - id: recovers
    title: It recovers the first value
    points: 1
    measure: distance(M (x + y), x) / norm(x)
    in_words: "it is {measured} off; {needed} is allowed"
    levels: [{within: 0.02, share: 0.99, credit: 1}]
""",
    path=Path("pairs.yaml"),
    assignment="x",
    earlier={},
)


def judge_leaking(amount: float, *levels: Level) -> Verdict:
    """Judge a matrix that lets some of the second value through: right on some pairs only."""
    judge = Judge(with_levels(PAIRS.question, "recovers", *levels), DEVELOPMENT_KEYS, BANK)
    submission = judge.prepare(judge.variant("ada"), {"M": f"A A^T + {amount} B B^T"})
    (judgement,) = judge.judge([submission], recognising=False)
    return judgement.verdict("recovers")


def test_a_clear_answer_is_decided_on_the_first_key_sets() -> None:
    assert judged(NOISY, {"q": "40 (mu_a + mu_b)"}).verdict("weights").evidence.key_sets == 2000


def true_share(amount: float) -> float:
    """The share of pairs with amount * |v_b| <= 0.02 |v_a|, measured independently."""
    generator = np.random.default_rng(0)
    first = np.linalg.norm(generator.normal(size=(400_000, 3)), axis=1)
    second = np.linalg.norm(generator.normal(size=(400_000, 4)), axis=1)
    return float((amount * second <= 0.02 * first).mean())


def test_a_close_share_is_decided_with_more_key_sets() -> None:
    share = true_share(0.015)
    level = Level(Decimal(1), within=0.02, share=round(share - 0.026, 3))
    verdict = judge_leaking(0.015, level)

    assert verdict.outcome is Outcome.MET
    assert verdict.evidence.key_sets == 8000
    assert verdict.evidence.interval is not None
    assert verdict.evidence.interval.low >= (level.share or 1)
    assert verdict.evidence.share == pytest.approx(share, abs=0.02)


def test_a_share_at_the_threshold_stays_undecided_and_goes_to_a_person() -> None:
    level = Level(Decimal(1), within=0.02, share=round(true_share(0.015), 3))
    verdict = judge_leaking(0.015, level)

    assert verdict.reason is Reason.UNDECIDED
    assert verdict.credit == 0
    assert verdict.needs_person
    assert verdict.evidence.key_sets == 32_000


def test_an_undecided_higher_level_leaves_the_lower_one_awarded() -> None:
    levels = (
        Level(Decimal(1), within=0.02, share=round(true_share(0.015), 3)),
        Level(Decimal("0.5"), within=0.02, share=0.2),
    )
    verdict = judge_leaking(0.015, *levels)

    assert verdict.credit == Decimal("0.5")
    assert verdict.reason is Reason.UNDECIDED


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.001, 0.5),
    st.floats(1, 5),
    st.sampled_from(
        ["40 (mu_a + mu_b)", "4 (mu_a + mu_b)", "mu_a + mu_b", "20 (mu_a + mu_b) + 0.3 mu_a"]
    ),
)
def test_a_wider_tolerance_never_lowers_the_credit(within: float, wider: float, query: str) -> None:
    question = judge_of(NOISY).question
    narrow = Level(Decimal(1), within=within, share=0.9)
    wide = replace(narrow, within=within * wider)

    credits = [
        verdict_of(with_levels(question, "weights", level), NOISY, {"q": query}, "weights").credit
        for level in (narrow, wide)
    ]
    assert credits[0] <= credits[1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e308, 1e308), min_size=16, max_size=16))
def test_any_numbers_earn_a_credit_between_none_and_all(numbers: list[float]) -> None:
    judgement = judged(NOISY, {"q": numbers})

    assert all(0 <= verdict.credit <= 1 for verdict in judgement.verdicts)
    assert 0 <= judgement.score.awarded <= judgement.score.automatic <= judgement.score.possible
    for verdict in judgement.verdicts:
        figures = (verdict.evidence.measured, verdict.evidence.share)
        assert all(figure is None or np.isfinite(figure) for figure in figures)


def test_a_huge_query_is_judged_at_a_smaller_size() -> None:
    variant = judge_of(NOISY).variant("ada")
    direction = variant.values["mu"][variant.indices["a"]]
    query = 1.7e308 * direction / np.abs(direction).max()
    judgement = judged(NOISY, {"q": query.tolist()})

    weights = judgement.verdict("weights")
    assert weights.outcome is Outcome.NOT_MET
    assert weights.evidence.scaling is Scaling.SATURATED
    assert weights.evidence.measured == pytest.approx(0.5)


def test_matrices_without_a_finite_result_are_not_judged_but_shown_to_a_person() -> None:
    huge = [[1.7e308] * 6 for _ in range(6)]
    judgement = judged(
        "attention-exploration/3e-ii", {"K": huge, "Q": huge, "V": [[-1.7e308] * 6] * 6}
    )

    assert awarded(judgement) == 0
    for verdict in judgement.verdicts:
        assert verdict.outcome in (Outcome.UNGRADABLE, Outcome.NOT_MET)


def test_credit_that_needs_another_criterion_is_lost_without_it() -> None:
    # The heads differ, but they look at keys that nobody asked for.
    variant = judge_of(HEADS).variant("ada")
    others = [i for i in range(8) if i not in (variant.indices["a"], variant.indices["b"])]
    first, second = (40 * variant.values["mu"][i] for i in others[:2])
    judgement = judged(HEADS, {"q1": first.tolist(), "q2": second.tolist()})

    different = judgement.verdict("different")
    assert different.reason is Reason.NEEDS_OTHER
    assert different.credit == 0


def test_each_missed_criterion_is_explained_once() -> None:
    judgement = judged(HEADS, {"q1": "mu_a", "q2": "mu_a"})

    assert len(shown(judgement)) == len(judgement.misconceptions) <= 3


def test_a_mixed_answer_of_numbers_and_formula_is_judged_on_the_own_variant() -> None:
    variant = judge_of(HEADS).variant("ada")
    first = 40 * variant.values["mu"][variant.indices["a"]]

    assert awarded(judged(HEADS, {"q1": first.tolist(), "q2": "40 mu_b"})) == 10


def test_points_are_exact_decimals() -> None:
    third = Verdict("x", Outcome.PARTLY_MET, Reason.LOWER_LEVEL, Decimal("0.1"), Decimal("0.7"))
    score = combine([third, third, third])

    assert third.points == Decimal("0.07")
    assert score.awarded == Decimal("0.21")
    assert str(score.awarded) == "0.21"


def test_what_is_pending_is_possible_but_not_automatic() -> None:
    score = judged(NOISY, {"q": "40 (mu_a + mu_b)", "explanation": "because"}).score

    parts = [score.awarded, score.automatic, score.pending, score.possible]
    assert [int(part) for part in parts] == [8, 8, 2, 10]


def test_plans_are_not_confused_when_expressions_come_and_go() -> None:
    scope = rubric_of(NOISY).scope
    judge = judge_of(NOISY)
    environment = judge.environment(submit(NOISY, {"q": "40 (mu_a + mu_b)"}))
    source = judge.context.source(0, 2000)

    # Each expression is gone when the next one is read, and may get its place in memory.
    for number in range(50):
        node = read_tree(
            f"{number} distance(c, v_a)" if number % 2 else f"sum(w) + {number}", scope
        )
        (value,) = observe(judge.question, environment, [node], source).values
        assert np.isfinite(value).all()
        if number % 2 == 0:
            assert value == pytest.approx(np.full_like(value, 1 + number))
