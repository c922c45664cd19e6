"""Issue 10, items 8, 11 and 15: what an answer is told about itself is so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Outcome
from grader.feedback.sentences import explain_misconception
from tests.support.rubrics import judge_of, judged, shown

AVERAGES = {
    "attention-exploration/3b": ("k", "a", "b"),
    "self-attention-and-transformers/b-ii": ("k", "a", "b"),
    "single-head-attention/1c": ("k", "i", "j"),
    "attention-exploration/3c-i": ("mu", "a", "b"),
    "self-attention-and-transformers/c-i": ("mu", "a", "b"),
    "single-head-attention/1e": ("mu", "i", "j"),
}
averages = pytest.mark.parametrize(
    ("question", "keys", "one", "other"), [(q, *r) for q, r in AVERAGES.items()], ids=AVERAGES
)


def copied_sum(
    question: str, student: str, names: tuple[str, str, str], decimals: int, length: float
) -> list[Any]:
    keys, one, other = names
    variant = judge_of(question).variant(student)
    copied = np.round(variant.values[keys], decimals)
    query = length * (copied[variant.indices[one]] + copied[variant.indices[other]])
    return list(query.tolist())


@averages
@pytest.mark.parametrize(("decimals", "length"), [(2, 1e3), (3, 1e4), (4, 1e5), (6, 1e7)])
def test_item_11_students_who_copied_a_few_decimals_are_told_that_it_is_the_rounding(
    question: str, keys: str, one: str, other: str, decimals: int, length: float
) -> None:
    told = []
    for number in range(12):
        student = f"student-{number}"
        sent = copied_sum(question, student, (keys, one, other), decimals, length)
        judgement = judged(question, {"q": sent}, student=student)
        if judgement.verdict("weights").outcome is not Outcome.MET:
            told.append(shown(judgement))

    assert len(told) >= 6
    assert all(each == {"rounding"} for each in told)


@averages
def test_item_11_a_split_of_three_to_one_is_not_rounding(
    question: str, keys: str, one: str, other: str
) -> None:
    text = f"100 ({keys}_{one} + {keys}_{other}) + log(3) {keys}_{one}"
    variant = judge_of(question).variant("ada")
    rows = variant.values[keys]
    first, second = rows[variant.indices[one]], rows[variant.indices[other]]
    numbers = [100 * (x + y) + np.log(3) * x for x, y in zip(first, second, strict=True)]

    assert shown(judged(question, {"q": text})) == {"uneven"}
    assert shown(judged(question, {"q": numbers})) == {"uneven"}


@averages
@pytest.mark.parametrize("size", [1e13, 1e100, 1e308])
def test_item_11_a_wrong_query_of_absurd_size_is_not_told_that_it_is_rounding(
    question: str, keys: str, one: str, other: str, size: float
) -> None:
    generator = np.random.default_rng(2)
    shape = judge_of(question).variant("ada").values[keys].shape[1]
    query = [size * generator.uniform(-1, 1) for _ in range(shape)]

    assert "rounding" not in shown(judged(question, {"q": query}))


@pytest.mark.parametrize(
    ("question", "key", "rest"),
    [
        ("attention-exploration/3a", "k", {}),
        ("self-attention-and-transformers/a-ii", "k", {"gap": "log(99 (n - 1))"}),
        ("single-head-attention/1b", "k", {"gap": "log(99 (n - 1))"}),
    ],
)
def test_item_15_the_sum_of_all_keys_is_not_promised_full_marks(
    question: str, key: str, rest: dict[str, str]
) -> None:
    for number in range(30):
        sent = {"q": rf"\sum_i {key}_i", **rest}
        judgement = judged(question, sent, student=f"student-{number}")

        assert "scale-too-small" not in shown(judgement)


@pytest.mark.parametrize(
    ("question", "sent", "expected"),
    [
        ("single-head-attention/1d", {"M": "2 I"}, {"keeps-both-doubled"}),
        (
            "self-attention-and-transformers/b-i",
            {"M": "a_1 a_1^T + a_3 a_3^T"},
            {"some-basis-vectors"},
        ),
        ("single-head-attention/1d", {"M": "2 s_2 s_2^T"}, {"some-basis-vectors"}),
    ],
)
def test_item_15_matrices_that_had_no_diagnosis(
    question: str, sent: dict[str, str], expected: set[str]
) -> None:
    assert shown(judged(question, sent)) == expected


@pytest.mark.parametrize("field", ["d", "c"])
def test_item_15_wishful_thinking_is_recognised_in_each_field(field: str) -> None:
    sent = {
        "c_2": "u_a",
        "c_2_plus_d": "u_a + u_d",
        "c_2_plus_c": "u_a + u_c",
        "scores_plus_d": [1, 2, 0],
        "scores_plus_c": [0, 2, 1],
        "possible": "no",
        f"c_2_plus_{field}": "u_b",
    }

    assert shown(judged("attention-exploration/3e-i", sent)) == {f"wishful-{field}"}


def test_item_15_a_query_that_pushes_down_is_told_of_the_samples_in_which_the_output_jumps() -> (
    None
):
    question = "single-head-attention/1f"
    uses = {"q": "-50 sum_{m != i, j} mu_m"}
    sent = {
        "share_near_average": 1,
        "share_nearer_j": 0.5,
        "variance": 0,
        "spread_ratio": 0,
        "variance_outside": 0,
    }
    still = judged(question, sent, uses=uses)
    jumps = judged(question, sent | {"variance_outside": 0.054}, uses=uses)

    assert shown(still) == {"turned-around"}
    (told,) = still.misconceptions
    assert "8 %" in explain_misconception(told)
    assert "without any effect" not in explain_misconception(told)
    assert jumps.is_solved


# Item 8


def mend_heads(sent: dict[str, str]) -> set[str]:
    return shown(judged("attention-exploration/3d-i", sent))


def test_item_8_a_mended_answer_must_meet_all_criteria() -> None:
    # Five times as long, the weights would be right, but the heads would still be equal.
    equal = {"q1": "mu_a + mu_b", "q2": "mu_a + mu_b"}
    different = {"q1": "mu_a", "q2": "mu_b"}

    assert "scale-too-small" not in mend_heads(equal)
    assert mend_heads(different) == {"scale-too-small"}


def test_item_8_a_mended_formula_must_work_on_other_variants() -> None:
    question = "attention-exploration/3e-ii"
    beta = float(judge_of(question).variant("ada").values["beta"])
    sent = {"K": "I", "Q": "u_d u_a^T + u_c u_d^T"}
    own_only = f"{2 / beta**2} (u_b u_b^T - u_c u_c^T)"
    general = "2 (u_b u_b^T - u_c u_c^T) / beta^2"

    assert "factor" not in shown(judged(question, sent | {"V": own_only}))
    assert shown(judged(question, sent | {"V": general})) == {"factor"}
