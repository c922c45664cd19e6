"""Issue 10, item 4: predictions on the student's own query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Reason
from grader.errors import AnswerRefused
from grader.feedback.sentences import explain
from tests.support.rubrics import judge_of, judged, shown

ONE_HEAD = {
    "attention-exploration/3c-ii": ("mu_a", "mu_b", "share_nearer_b"),
    "self-attention-and-transformers/c-ii": ("mu_a", "mu_b", "share_nearer_b"),
    "single-head-attention/1f": ("mu_i", "mu_j", "share_nearer_j"),
}
TWO_HEADS = ("attention-exploration/3d-ii", "self-attention-and-transformers/d-ii")
GAPS = {
    "self-attention-and-transformers/a-ii": ("k_j", 12),
    "single-head-attention/1b": ("k_i", 11),
}

one_head = pytest.mark.parametrize("question", ONE_HEAD)


def predict(question: str, **changed: float) -> dict[str, float]:
    nearer = ONE_HEAD[question][2]
    sent = {"share_near_average": 0.01, nearer: 1, "variance": 0.25, "spread_ratio": 0}
    if question.endswith("1f"):
        sent["variance_outside"] = 0
    return sent | changed


def query(question: str, length: float) -> dict[str, str]:
    first, second, _ = ONE_HEAD[question]
    return {"q": f"{length} ({first} + {second})"}


@one_head
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share_near_average", 1.2),
        ("share_near_average", -0.1),
        ("variance", -0.01),
        ("spread_ratio", -1),
        ("variance", "1/4 - 1"),
        ("share_near_average", "120%"),
    ],
)
def test_item_4_impossible_values_are_refused_as_unreadable(
    question: str, name: str, value: Any
) -> None:
    with pytest.raises(AnswerRefused) as refused:
        judged(question, predict(question) | {name: value})

    assert refused.value.code == "number.impossible"
    assert name in str(refused.value)


@pytest.mark.parametrize("question", TWO_HEADS)
@pytest.mark.parametrize("name", ["variance_1", "variance_2", "left_out_share"])
def test_item_4_impossible_values_of_two_heads_are_refused(question: str, name: str) -> None:
    sent = {"share_near_average": 0.98, "variance_1": 0, "variance_2": 0, "left_out_share": 0.08}
    with pytest.raises(AnswerRefused) as refused:
        judged(question, sent | {name: -0.02})

    assert refused.value.code == "number.impossible"


@one_head
@pytest.mark.parametrize("length", [5, 6, 8, 10, 13, 14, 20, 40, 100, 1000, 10_000])
def test_item_4_understanding_is_right_for_every_length(question: str, length: float) -> None:
    judgement = judged(question, predict(question), uses=query(question, length))

    assert judgement.is_solved


@one_head
@pytest.mark.parametrize("length", [5, 6, 10, 40, 1000])
def test_item_4_contradictory_statements_are_never_both_right(question: str, length: float) -> None:
    jumps = predict(question, share_near_average=0, variance=0.25)
    stays = predict(question, share_near_average=0.5, variance=0)
    verdicts = [
        [judged(question, sent, uses=query(question, length)).verdict(name).credit
         for name in ("share_near_average", "variance")]
        for sent in (jumps, stays)
    ]  # fmt: skip

    assert [all(each) for each in verdicts].count(True) <= 1


@one_head
@pytest.mark.parametrize("lean", [0.05, 0.1, 0.2, 0.3, 0.5, 0.85, 1, 1.5, 2, 3, 4])
def test_item_4_nor_for_a_query_that_leans_a_little(question: str, lean: float) -> None:
    first, second, _ = ONE_HEAD[question]
    i, j = first[-1], second[-1]
    uses = {"q": f"{lean} ({first} + {second}) - 50 sum_{{m != {i}, {j}}} mu_m"}
    jumps = predict(question, share_near_average=0, variance=0.25)
    stays = predict(question, share_near_average=0.5, variance=0)
    both = []
    for sent in (jumps, stays):
        judgement = judged(question, sent, uses=uses)
        both.append(all(judgement.verdict(n).credit for n in ("share_near_average", "variance")))

    assert both.count(True) <= 1


@one_head
def test_item_4_one_length_for_all_numbers(question: str) -> None:
    # For 6 (mu_a + mu_b) the share near the average is 0.08 and the variance 0.17; for longer
    # ones they tend to 0 and 0.25. The one of the short and the other of the long do not go
    # together.
    uses = query(question, 5)
    short = judged(question, predict(question, share_near_average=0.18, variance=0.13), uses=uses)
    long = judged(question, predict(question, share_near_average=0, variance=0.28), uses=uses)
    mixed = judged(question, predict(question, share_near_average=0.18, variance=0.28), uses=uses)

    assert short.is_solved
    assert long.is_solved
    reasons = {mixed.verdict(name).reason for name in ("share_near_average", "variance")}
    assert reasons == {Reason.HOLDS, Reason.INCONSISTENT}


@one_head
def test_item_4_a_saturated_query_has_no_interval(question: str) -> None:
    verdict = judged(question, predict(question), uses=query(question, 1000)).verdict("variance")

    assert verdict.evidence.expected is not None
    assert verdict.evidence.expected.low == verdict.evidence.expected.high


@one_head
def test_item_4_an_interval_is_told_as_such(question: str) -> None:
    judgement = judged(question, predict(question), uses=query(question, 6))
    verdict = judgement.verdict("variance")
    assert verdict.evidence.expected is not None
    low, high = verdict.evidence.expected.low, verdict.evidence.expected.high

    sentence = explain(verdict, judge_of(question).question)

    assert f"between {low:.3g} and {high:.3g}" in sentence


@pytest.mark.parametrize("question", TWO_HEADS)
def test_item_4_the_left_out_share_is_compared_with_the_closed_form(question: str) -> None:
    exact = 0.5 * math.erfc(1.0)  # Phi(-sqrt 2)
    sent = {"share_near_average": 0.98, "variance_1": 0.01, "variance_2": 0}
    verdict = judged(question, sent | {"left_out_share": exact + 0.0199}).verdict("left_out_share")
    beyond = judged(question, sent | {"left_out_share": exact + 0.0201}).verdict("left_out_share")

    assert verdict.credit == 1
    assert verdict.evidence.is_exact
    assert verdict.evidence.expected is not None
    assert verdict.evidence.expected.low == pytest.approx(exact, rel=1e-9)
    assert beyond.credit == 0
    assert "measured" not in explain(verdict, judge_of(question).question)
    assert "measured" not in explain(beyond, judge_of(question).question)


@pytest.mark.parametrize(("question", "key", "count"), [(q, *r) for q, r in GAPS.items()])
def test_item_4_the_gap_tells_n_from_n_minus_one(question: str, key: str, count: int) -> None:
    right = judged(question, {"q": f"40 {key}", "gap": math.log(99 * (count - 1))})
    wrong = judged(question, {"q": f"40 {key}", "gap": math.log(99 * count)})

    assert right.is_solved
    assert wrong.verdict("gap").credit == 0
    assert shown(wrong) == {"counted-itself"}


def test_item_4_the_figures_are_those_of_an_independent_simulation() -> None:
    question = "attention-exploration/3c-ii"
    generator = np.random.default_rng(11)
    for length in (5.0, 40.0):
        stretched = length * (1 + generator.normal(size=400_000) / math.sqrt(2))
        others = 6 * np.exp(-np.maximum(stretched, length))
        ahead, behind = (
            np.exp(stretched - np.maximum(stretched, length)),
            np.exp(length - np.maximum(stretched, length)),
        )
        weights = np.stack([ahead, behind], axis=1) / (ahead + behind + others)[:, None]
        # The values are orthonormal, so that |v_a - v_b|^2 is 2; the rest is spread over others.
        variance = weights.var(axis=0).sum() / 2
        evidence = judged(
            question, predict(question), uses=query(question, length)
        ).verdict("variance").evidence  # fmt: skip

        assert evidence.expected is not None
        assert evidence.expected.low == pytest.approx(variance, abs=0.01)
