"""QUESTIONS.md, "What makes grading these hard": each of its fifteen points, by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Outcome, Reason
from grader.engine.question import MeasuredCriterion, PredictedCriterion
from grader.engine.random.keysets import NoiseSource
from grader.engine.sample.observe import observe
from grader.errors import AnswerRefused
from grader.feedback.sentences import explain_misconception
from grader.formula.formula import read_tree
from tests.support.rubrics import (
    awarded,
    judge_of,
    judged,
    rubric_of,
    shipped,
    shown,
    submit,
    vectors,
)

EXACT, NOISY, HEADS = (
    "attention-exploration/3b",
    "attention-exploration/3c-i",
    "attention-exploration/3d-i",
)
STRETCHED, CALM = "attention-exploration/3c-ii", "attention-exploration/3d-ii"
MATRICES = "attention-exploration/3e-ii"
BASES, ROWS = "self-attention-and-transformers/b-i", "single-head-attention/1d"
QUERIES = [
    EXACT,
    NOISY,
    "self-attention-and-transformers/b-ii",
    "self-attention-and-transformers/c-i",
]

KEEPS_STILL = {"share_near_average": 1, "share_nearer_b": 0.5, "variance": 0, "spread_ratio": 0}
JUMPS = {"share_near_average": 0.01, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}


def symbol(question: str) -> str:
    return "k" if question.endswith(("3b", "b-ii", "1c")) else "mu"


# 1


@pytest.mark.parametrize("question", QUERIES)
@pytest.mark.parametrize(
    "query",
    [
        "25 (#_a + #_b)",
        "3000 #_a + 3000 #_b",
        r"-50 \sum_{i \neq a,b} #_i",
        "60 (#_a + #_b) - 9 sum_{i != a, b} #_i",
    ],
)
def test_point_1_any_answer_that_works_earns_the_credit(question: str, query: str) -> None:
    judgement = judged(question, {"q": query.replace("#", symbol(question))})

    assert awarded(judgement) == 8


def test_point_1_a_part_outside_the_span_of_the_keys_does_no_harm() -> None:
    variant = judge_of(NOISY).variant("ada")
    mu_a, mu_b = vectors(variant, "mu", "a", "b")
    means = variant.values["mu"]
    outside = (np.eye(16) - means.T @ means) @ np.arange(16.0)
    query = 70 * (mu_a + mu_b) + 25 * outside

    assert np.abs(means @ outside).max() < 1e-10
    assert awarded(judged(NOISY, {"q": query.tolist()})) == 8


@pytest.mark.parametrize("base", ["I - B B^T", "A A^T", "A A^T + 7 (I - A A^T - B B^T)"])
def test_point_1_any_matrix_that_works_is_right(base: str) -> None:
    assert awarded(judged(BASES, {"M": base})) == 8


# 2


def test_point_2_ten_percent_of_the_mass_elsewhere_never_passes() -> None:
    for number in range(25):
        judgement = judged(
            EXACT, {"q": "log(2.7 * 3) (k_a + k_b) - 0 k_a"}, student=f"student-{number}"
        )
        weights = judgement.verdict("weights")
        assert weights.evidence.measured == pytest.approx(3 / (3 + 2 * 8.1), rel=1e-6)
        assert weights.credit < 1


@pytest.mark.parametrize("question", QUERIES)
def test_point_2_values_are_no_symbol_for_a_query(question: str) -> None:
    with pytest.raises(AnswerRefused) as refused:
        submit(question, {"q": "40 (v_a + v_b)"})

    assert refused.value.code == "formula.unknown"


@pytest.mark.parametrize("question", QUERIES)
def test_point_2_the_zero_query_earns_nothing(question: str) -> None:
    assert awarded(judged(question, {"q": f"0 {symbol(question)}_a"})) == 0


@pytest.mark.parametrize(
    "rubric",
    [r for r in shipped().rubrics() if "orthonormal: [n, d]" in r.text],
    ids=lambda r: r.id,
)
def test_point_2_orthonormal_parts_have_fewer_keys_than_dimensions(rubric: Any) -> None:
    assert rubric.scope.constants["n"] < rubric.scope.constants["d"]


# 3


@pytest.mark.parametrize("question", [NOISY, "self-attention-and-transformers/c-i"])
@pytest.mark.parametrize("size", [20, 100, 1000, 10_000, 100_000, 1_000_000])
@pytest.mark.parametrize("way", ["formula", "numbers"])
def test_point_3_every_scale_that_is_right_in_the_limit_passes(
    question: str, size: int, way: str
) -> None:
    mu_a, mu_b = vectors(judge_of(question).variant("ada"), "mu", "a", "b")
    query: Any = f"{size} (mu_a + mu_b)" if way == "formula" else (size * (mu_a + mu_b)).tolist()

    assert awarded(judged(question, {"q": query})) == 8


@pytest.mark.parametrize("size", [20, 1_000_000])
def test_point_3_holds_for_the_third_assignment_too(size: int) -> None:
    assert awarded(judged("single-head-attention/1e", {"q": f"{size} (mu_i + mu_j)"})) == 8


def test_point_3_a_small_scale_fails_and_is_told_what_is_missing() -> None:
    judgement = judged(NOISY, {"q": "mu_a + mu_b"})
    (misconception,) = judgement.misconceptions

    assert awarded(judgement) == 0
    assert misconception.id == "scale-too-small"
    # (n - 2) e^-C / 2 must be at most about 0.02, so that C = 5 is right and C = 4 is not.
    assert misconception.factor == 5
    assert "About 5 times" in explain_misconception(misconception)


# 4


def test_point_4_what_is_left_out_depends_on_the_key_alone() -> None:
    calm = {"share_near_average": 0.99, "variance_1": 0, "variance_2": 0, "left_out_share": 0.0786}
    for heads in (
        {"q1": "100 mu_a", "q2": "100 mu_b"},
        {"q1": "100 mu_b", "q2": "100 mu_a"},
        {"q1": r"-50 \sum_{i \neq a} \mu_i", "q2": r"-50 \sum_{i \neq b} \mu_i"},
    ):
        assert awarded(judged(CALM, calm, uses=heads)) == 8


def test_point_4_nearly_all_that_stays_is_near_the_average() -> None:
    judge = judge_of(CALM)
    calm = {"share_near_average": 0.99, "variance_1": 0, "variance_2": 0, "left_out_share": 0.0786}
    submission = submit(CALM, calm, uses={"q1": "100 mu_a", "q2": "100 mu_b"})
    node = read_tree("share(distance(c, (v_a + v_b) / 2) <= 0.05 D)", rubric_of(CALM).scope)
    source = NoiseSource(judge.bank, judge.context.key, "grading", 0, 8000)
    seen = observe(judge.question, judge.environment(submission), [node], source)

    assert seen.values[0][0, 0] >= 0.985
    assert seen.kept is not None
    assert seen.kept.mean() == pytest.approx(0.92, abs=0.01)


# 5


def test_point_5_predictions_are_graded_against_the_own_query() -> None:
    leaning, still = {"q": "100 (mu_a + mu_b)"}, {"q": r"-50 \sum_{i \neq a,b} \mu_i"}

    assert awarded(judged(STRETCHED, JUMPS, uses=leaning)) == 8
    assert awarded(judged(STRETCHED, KEEPS_STILL, uses=still)) == 8
    assert awarded(judged(STRETCHED, KEEPS_STILL, uses=leaning)) < 4
    assert awarded(judged(STRETCHED, JUMPS, uses=still)) < 4


# 6


def test_point_6_the_own_earlier_answer_is_used_if_it_earned_its_criterion() -> None:
    own = submit(STRETCHED, JUMPS, uses={"q": "123 (mu_a + mu_b)"})
    failed = submit(STRETCHED, JUMPS, uses={"q": "mu_a + mu_b"})
    none = submit(STRETCHED, JUMPS)

    assert own.used is not None
    assert own.used.is_own
    assert np.linalg.norm(own.used.arrays["q"]) == pytest.approx(123 * math.sqrt(2))
    for other in (failed, none):
        assert other.used is not None
        assert not other.used.is_own
        assert np.linalg.norm(other.used.arrays["q"]) == pytest.approx(40 * math.sqrt(2))


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("attention-exploration/3c-ii", "attention-exploration/3c-i"),
        ("attention-exploration/3d-ii", "attention-exploration/3d-i"),
        ("self-attention-and-transformers/c-ii", "self-attention-and-transformers/c-i"),
        ("self-attention-and-transformers/d-ii", "self-attention-and-transformers/d-i"),
        ("single-head-attention/1f", "single-head-attention/1e"),
    ],
)
def test_point_6_dependent_parts_share_the_variant(later: str, earlier: str) -> None:
    one, other = judge_of(later).variant("ada"), judge_of(earlier).variant("ada")

    assert one.indices == other.indices
    assert all(np.array_equal(one.values[name], other.values[name]) for name in other.values)


# 7


@pytest.mark.parametrize("size", [5.5, 10, 40, 500, 10_000])
def test_point_7_understanding_earns_all_points_at_any_scale(size: float) -> None:
    # What one computes for w_a = sigmoid(C z / sqrt 2), for this very C.
    near = math.erf(math.sqrt(2) * math.log(0.6 / 0.4) / size / math.sqrt(2))
    predictions = {**JUMPS, "share_near_average": near, "variance": 0.25 - 0.56 / size}
    for student in ("ada", "bob", "eve"):
        judgement = judged(
            STRETCHED, predictions, student=student, uses={"q": f"{size} (mu_a + mu_b)"}
        )
        assert awarded(judgement) == 8


@pytest.mark.parametrize("size", [5.5, 10, 40, 500, 10_000])
@pytest.mark.parametrize(
    "belief",
    [
        pytest.param(KEEPS_STILL, id="small noise around the average"),
        pytest.param({**JUMPS, "share_nearer_b": 0.5, "spread_ratio": 1}, id="both keys vary"),
        pytest.param({**JUMPS, "spread_ratio": 1}, id="both keys vary, in part"),
        pytest.param({**JUMPS, "variance": 0.5}, id="variance of a sum"),
        pytest.param({**JUMPS, "variance": 0.0}, id="no variance"),
    ],
)
def test_point_7_no_wrong_belief_earns_all_points(size: float, belief: dict[str, float]) -> None:
    assert awarded(judged(STRETCHED, belief, uses={"q": f"{size} (mu_a + mu_b)"})) < 8


@pytest.mark.parametrize(
    "question", ["self-attention-and-transformers/a-ii", "single-head-attention/1b"]
)
def test_point_7_the_gap_makes_the_weight_exactly_99_percent(question: str) -> None:
    rubric = rubric_of(question)
    keys = int(rubric.scope.constants["n"])
    gap = next(each for each in rubric.question.criteria if isinstance(each, PredictedCriterion))

    scores = np.zeros(keys)
    scores[2] = math.log(99 * (keys - 1))
    weights = np.exp(scores) / np.exp(scores).sum()
    assert weights[2] == pytest.approx(0.99)
    assert gap.tolerance <= 0.1


# 8


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("100 (mu_a + mu_b)", "100 (mu_a + mu_b)", id="equal vectors"),
        pytest.param("100 (mu_a + mu_b)", "50 (mu_a + mu_b)", id="equal directions"),
        pytest.param("100 (mu_a + mu_b)", r"-50 \sum_{i \neq a,b} \mu_i", id="orthogonal vectors"),
    ],
)
def test_point_8_equal_heads_are_a_matter_of_weights(first: str, second: str) -> None:
    judgement = judged(HEADS, {"q1": first, "q2": second})

    assert judgement.verdict("weights").credit == 1
    assert judgement.verdict("different").credit == 0
    assert "equal-heads" in shown(judgement)


def test_point_8_a_split_of_three_quarters_is_a_legitimate_pair() -> None:
    base = "40 (mu_a + mu_b)"
    answer = {"q1": f"{base} + log(3) mu_a", "q2": f"{base} + log(3) mu_b"}

    assert awarded(judged(HEADS, answer)) == 10


def test_point_8_different_heads_that_do_nothing_right_earn_nothing() -> None:
    judgement = judged(HEADS, {"q1": "-40 mu_a", "q2": "-40 mu_b"})

    assert judgement.verdict("different").reason in (Reason.NEEDS_OTHER, Reason.OUTSIDE_TOLERANCE)
    assert awarded(judgement) == 0


# 9


def one_sided(
    question: str, first: str, second: str, factor: float
) -> tuple[np.ndarray, np.ndarray]:
    """A matrix that is right on one side only, and the side on which it is: as c M, as M c."""
    variant = judge_of(question).variant("ada")
    keep, other = variant.values[first], variant.values[second]
    room = np.eye(10) - keep @ keep.T - other @ other.T
    away = room @ np.arange(10.0)
    return factor * keep @ keep.T + np.outer(away, other[:, 0]), away


def test_point_9_the_side_shows_where_the_bases_leave_room() -> None:
    as_rows, _ = one_sided(ROWS, "S", "T", 2)
    as_columns = one_sided(BASES, "A", "B", 1)[0].T

    assert awarded(judged(ROWS, {"M": as_rows.tolist()})) == 8
    assert awarded(judged(BASES, {"M": as_columns.tolist()})) == 8
    for question, wrong in ((ROWS, as_rows.T), (BASES, as_columns.T)):
        judgement = judged(question, {"M": wrong.tolist()})
        assert awarded(judgement) == 0
        assert shown(judgement) == {"sides-swapped"}


def test_point_9_the_transpose_is_the_transpose_although_t_is_a_name() -> None:
    assert awarded(judged(ROWS, {"M": "2 (I - T T^T)"})) == 8
    assert awarded(judged(ROWS, {"M": r"2 (I - TT^\top)"})) == 8
    assert awarded(judged(ROWS, {"M": "2 (I - T T.T)"})) == 8


@pytest.mark.parametrize(("question", "names"), [(ROWS, "ST"), (BASES, "AB")])
def test_point_9_the_bases_leave_room_and_differ_in_size(question: str, names: str) -> None:
    variant = judge_of(question).variant("ada")
    first, second = (variant.values[name].shape[1] for name in names)

    assert first + second < variant.values[names[0]].shape[0]
    assert first != second


# 10


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("attention-exploration/3a", "j"),
        ("self-attention-and-transformers/a-ii", "j"),
        ("single-head-attention/1b", "i"),
    ],
)
def test_point_10_every_variant_of_a_copying_part_has_an_answer(question: str, index: str) -> None:
    rubric = rubric_of(question)
    points = rubric.question.criterion("weights").points
    for number in range(40):
        variant = judge_of(question).variant(f"student-{number}")
        keys = variant.values["k"]
        cosines = keys @ keys.T - np.eye(len(keys))
        assert np.linalg.norm(keys, axis=1) == pytest.approx(np.ones(len(keys)))
        assert np.abs(cosines).max() <= 0.5 + 1e-12
        sent: dict[str, Any] = {"q": f"40 k_{index}"}
        if question != "attention-exploration/3a":
            sent["gap"] = 7
        judgement = judged(question, sent, student=f"student-{number}")
        assert judgement.verdict("weights").points == points


# 11


@pytest.mark.parametrize("rubric", list(shipped().rubrics()), ids=lambda rubric: rubric.id)
def test_point_11_a_share_is_asked_for_exactly_where_key_sets_are_drawn(rubric: Any) -> None:
    for criterion in rubric.question.criteria:
        if isinstance(criterion, MeasuredCriterion):
            for level in criterion.levels:
                assert (level.share is not None) == (rubric.question.key_sets is not None)


def test_point_11_exact_parts_give_no_interval() -> None:
    evidence = judged(EXACT, {"q": "40 (k_a + k_b)"}).verdict("weights").evidence

    assert evidence.interval is None
    assert evidence.key_sets is None


# 12


def test_point_12_means_copied_with_four_decimals_pass_at_100_and_fail_far_beyond() -> None:
    mu_a, mu_b = (
        np.round(mean, 4) for mean in vectors(judge_of(NOISY).variant("ada"), "mu", "a", "b")
    )

    assert awarded(judged(NOISY, {"q": (100 * (mu_a + mu_b)).tolist()})) == 8
    failed = judged(NOISY, {"q": (1e6 * (mu_a + mu_b)).tolist()})
    assert awarded(failed) == 0
    assert shown(failed) == {"rounding"}


@pytest.mark.parametrize("size", [1e150, 1e300, 1.7e308])
def test_point_12_nothing_overflows_before_it_is_rescaled(size: float) -> None:
    mu_a, mu_b = vectors(judge_of(EXACT).variant("ada"), "k", "a", "b")
    query = size * mu_a / np.abs(mu_a).max() + 0 * mu_b
    judgement = judged(EXACT, {"q": query.tolist()})

    assert judgement.verdict("weights").outcome is Outcome.NOT_MET
    assert judgement.verdict("weights").evidence.measured == pytest.approx(0.5)


@pytest.mark.parametrize("exponent", [13, 14, 15, 20, 100, 307])
@pytest.mark.parametrize("question", [EXACT, NOISY])
def test_point_12_no_length_makes_the_grade_a_matter_of_rounding_errors(
    question: str, exponent: int
) -> None:
    family = symbol(question)
    for student in "abcdef":
        first, second = vectors(judge_of(question).variant(student), family, "a", "b")
        query = 10.0**exponent * (first + second)
        assert awarded(judged(question, {"q": query.tolist()}, student=student)) == 8


def test_point_12_a_huge_earlier_answer_can_be_used() -> None:
    calm = {"share_near_average": 0.99, "variance_1": 0, "variance_2": 0, "left_out_share": 0.0786}

    assert awarded(judged(CALM, calm, uses={"q1": "1e307 mu_a", "q2": "1e307 mu_b"})) == 8


def test_point_12_the_given_numbers_are_served_in_full() -> None:
    from grader.feedback.given import build_given_values

    rubric = rubric_of(NOISY)
    variant = judge_of(NOISY).variant("ada")
    given = build_given_values(rubric.scope, variant, rubric.form.given)

    assert (np.array(given["mu"]) == variant.values["mu"]).all()


# 13


def test_point_13_a_number_in_place_of_beta_passes_as_numbers_and_fails_as_a_formula() -> None:
    variant = judge_of(MATRICES).variant("ada")
    beta = float(variant.values["beta"])
    values = f"{1 / beta**2!r} (u_b u_b^T - u_c u_c^T)"
    formula = {"K": "I", "Q": "u_d u_a^T + u_c u_d^T", "V": values}
    u_b, u_c = variant.values["u"][1], variant.values["u"][2]
    numbers = (np.outer(u_b, u_b) - np.outer(u_c, u_c)) / beta**2

    failed = judged(MATRICES, formula)
    assert awarded(failed) == 0
    assert failed.verdict("c_2").reason is Reason.NOT_GENERAL
    assert awarded(judged(MATRICES, {**formula, "V": numbers.tolist()})) == 10
    assert "fails as a\nformula" in rubric_of(MATRICES).form.prompt


def test_point_13_numbers_with_a_factor_in_front_are_numbers() -> None:
    first, second = vectors(judge_of(EXACT).variant("ada"), "k", "a", "b")

    assert awarded(judged(EXACT, {"q": f"40 * {(first + second).tolist()}"})) == 8


def test_point_13_a_formula_is_tried_elsewhere_although_other_fields_are_numbers() -> None:
    beta = float(judge_of("attention-exploration/3e-i").variant("ada").values["beta"])
    sent = {
        "c_2": f"beta / {beta!r} u_a",
        "c_2_plus_d": "u_a + u_d",
        "c_2_plus_c": "u_a + u_c",
        "scores_plus_d": [1, 2, 0],
        "scores_plus_c": [0, 2, 1],
        "possible": "no",
    }
    judgement = judged("attention-exploration/3e-i", sent)

    assert judgement.verdict("c_2").reason is Reason.NOT_GENERAL
    assert judgement.verdict("c_2_plus_d").credit == 1


@pytest.mark.parametrize("question", [EXACT, NOISY, "single-head-attention/1d", BASES, MATRICES])
def test_point_13_an_answer_for_another_variant_fails_on_the_own(question: str) -> None:
    examples = [e for e in rubric_of(question).form.examples if e.of == "another"]

    assert examples
    assert all(example.by_chance == 0 for example in examples)


# 14


@pytest.mark.parametrize(
    ("question", "sent"),
    [
        (BASES, {"M": r"\sum_{j=1}^m a_j a_j^\top"}),
        (ROWS, {"M": r"2\sum_{k=1}^{S} s_k s_k^\top"}),
        (EXACT, {"q": r"C(k_a + k_b), C \gg 0"}),
        (NOISY, {"q": "C (mu_a + mu_b) where C >> 0"}),
        (NOISY, {"q": r"-30\sum_{i \notin \{a,b\}} \mu_i"}),
        (
            MATRICES,
            {
                "K": "I",
                "Q": r"u_d u_a^\top + u_c u_d^\top",
                "V": r"\frac{u_b u_b^\top - u_c u_c^\top}{\beta^2}",
            },
        ),
    ],
)
def test_point_14_the_notation_of_papers_earns_full_credit(
    question: str, sent: dict[str, str]
) -> None:
    judgement = judged(question, sent)

    assert judgement.score.awarded == judgement.score.automatic


def test_point_14_a_large_constant_must_work_from_some_size_on() -> None:
    # Right at C = 1000, wrong at C = 100 000 and beyond: the second score runs away.
    judgement = judged(NOISY, {"q": "C (mu_a + mu_b) + C^2 / 10^8 mu_a where C >> 0"})

    assert judgement.verdict("weights").credit == 0
    assert shown(judgement) == {"one-key-only"}


def test_point_14_large_constants_are_independent() -> None:
    judgement = judged(NOISY, {"q": "C mu_a + D mu_b where C >> 0, D >> 0"})

    assert judgement.verdict("weights").reason is Reason.NOT_FOR_EVERY_SIZE
    assert judgement.verdict("weights").credit == 0
    assert judgement.misconceptions == ()


def test_point_14_the_logarithm_of_a_large_constant_is_large_enough() -> None:
    assert awarded(judged(NOISY, {"q": "log(C) (mu_a + mu_b) where C >> 0"})) == 8


def test_point_14_numeric_subscripts_exist_only_where_the_paper_has_them() -> None:
    assert awarded(judged(BASES, {"M": "a_1 a_1^T + a_2 a_2^T + a_3 a_3^T"})) == 8
    for question, query in ((EXACT, "40 (k_1 + k_2)"), (NOISY, "40 (mu_1 + mu_2)")):
        with pytest.raises(AnswerRefused):
            submit(question, {"q": query})


# 15

MISCONCEPTIONS = [
    pytest.param(NOISY, {"q": "3 (mu_a + mu_b)"}, "scale-too-small", id="scale"),
    pytest.param(NOISY, {"q": "40 mu_b"}, "one-key-only", id="only one of the two"),
    pytest.param(
        "self-attention-and-transformers/a-iii", {"c": "k_j"}, "keys-instead-of-values", id="keys"
    ),
    pytest.param(ROWS, {"M": "S S^T"}, "half-forgotten", id="half forgotten"),
    pytest.param(ROWS, {"M": "2 T T^T"}, "other-subspace", id="other subspace"),
    pytest.param(
        MATRICES,
        {"K": "I", "Q": "u_d u_a^T + u_c u_d^T", "V": "u_b u_b^T - u_c u_c^T"},
        "length-forgotten",
        id="1/beta^2 forgotten",
    ),
    pytest.param(
        MATRICES,
        {"K": "I", "Q": "u_c u_a^T + u_d u_d^T", "V": "(u_b u_b^T - u_c u_c^T)/beta^2"},
        "outputs-exchanged",
        id="c_1 and c_2 exchanged",
    ),
    pytest.param(
        MATRICES,
        {"K": "u_d u_a^T + u_c u_d^T", "Q": "I", "V": "(u_b u_b^T - u_c u_c^T)/beta^2"},
        "keys-and-queries-exchanged",
        id="K and Q exchanged",
    ),
    pytest.param(
        HEADS, {"q1": "50 (mu_a + mu_b)", "q2": "70 (mu_a + mu_b)"}, "equal-heads", id="equal heads"
    ),
    pytest.param(STRETCHED, {**JUMPS, "spread_ratio": 1}, "both-vary", id="both keys vary"),
    pytest.param(STRETCHED, {**KEEPS_STILL, "share_nearer_b": 1}, "small-noise", id="small noise"),
    pytest.param(
        STRETCHED, {**JUMPS, "variance": 800}, "variance-of-the-score", id="variance of the score"
    ),
]


@pytest.mark.parametrize(("question", "sent", "misconception"), MISCONCEPTIONS)
def test_point_15_misconceptions_are_recognised_by_behaviour(
    question: str, sent: dict[str, Any], misconception: str
) -> None:
    assert shown(judged(question, sent)) == {misconception}


def test_point_15_a_wrong_pair_is_recognised() -> None:
    variant = judge_of(NOISY).variant("ada")
    (mu_a,) = vectors(variant, "mu", "a")
    stranger = next(i for i in range(8) if i not in (variant.indices["a"], variant.indices["b"]))
    query = 40 * (mu_a + variant.values["mu"][stranger])

    assert shown(judged(NOISY, {"q": query.tolist()})) == {"wrong-pair"}


def test_point_15_an_average_of_inputs_is_recognised() -> None:
    sent = {
        "c_2": "(x_1 + x_2 + x_3)/3",
        "c_2_plus_d": "u_a + u_d",
        "c_2_plus_c": "u_a + u_c",
        "scores_plus_d": [1, 2, 0],
        "scores_plus_c": [0, 2, 1],
        "possible": "no",
    }
    assert shown(judged("attention-exploration/3e-i", sent)) == {"average-of-inputs"}
