"""What can be derived by hand must be what the engine measures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grader.engine.random.keysets import NoiseSource
from grader.engine.sample.observe import observe
from grader.formula.formula import read_tree
from tests.support.rubrics import judge_of, rubric_of, submit, vectors

STRETCHED = "self-attention-and-transformers/c-ii"
TWO_HEADS = "self-attention-and-transformers/d-ii"
SETS = 8000
PREDICTIONS = {"share_near_average": 0, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}


def measured(
    question: str, formula: str, sent: dict[str, float], uses: dict[str, str]
) -> np.ndarray:
    """A quantity of a question on the grading key sets, for an earlier answer."""
    judge = judge_of(question)
    submission = submit(question, sent, uses=uses)
    node = read_tree(formula, rubric_of(question).scope)
    source = NoiseSource(judge.bank, judge.context.key, "grading", 0, SETS)
    seen = observe(judge.question, judge.environment(submission), [node], source)
    return np.asarray(seen.values[0])


def single_head(formula: str, query: str) -> np.ndarray:
    return measured(STRETCHED, formula, PREDICTIONS, {"q": query})


def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def test_a_long_query_lands_on_either_value_half_of_the_time() -> None:
    (share,) = single_head(
        "share(distance(c, v_a) < distance(c, v_b))", "1000 (mu_a + mu_b)"
    ).ravel()

    assert share == pytest.approx(0.5, abs=3.5 * math.sqrt(0.25 / SETS))


def test_the_covariance_tends_to_a_quarter_of_the_outer_square() -> None:
    outputs = single_head("c", "10000 (mu_a + mu_b)")[0]
    v_a, v_b = vectors(judge_of(STRETCHED).variant("ada"), "v", "a", "b")
    expected = np.outer(v_a - v_b, v_a - v_b) / 4

    covariance = np.cov(outputs.T, bias=True)
    assert np.linalg.norm(covariance - expected) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize("scale", [10, 20, 40, 100])
def test_the_variance_follows_the_integral_over_the_stretch(scale: int) -> None:
    (variance,) = single_head("trace_variance(c) / D^2", f"{scale} (mu_a + mu_b)").ravel()

    # w_a = sigmoid(C z / sqrt 2); the trace of Var(c) over D^2 is the variance of w_a.
    z = np.linspace(-9, 9, 200_001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    weight = 0.5 * (1 + np.tanh(scale * z / math.sqrt(2) / 2))
    step = z[1] - z[0]
    expected = (weight**2 * density).sum() * step - ((weight * density).sum() * step) ** 2
    assert variance == pytest.approx(expected, abs=0.004)
    assert expected == pytest.approx(0.25 - 0.56 / scale, abs=0.004)


def test_a_query_that_pushes_the_others_down_does_not_move() -> None:
    outputs = single_head("distance(c, (v_a + v_b) / 2) / D", r"-50 \sum_{i \neq a,b} \mu_i")

    assert outputs.max() < 1e-3


def test_the_share_left_out_is_phi_of_minus_root_two() -> None:
    sent = {"share_near_average": 1, "variance_1": 0, "variance_2": 0, "left_out_share": 0.08}
    heads = {"q1": "100 mu_a", "q2": "100 mu_b"}
    (left_out,) = measured(TWO_HEADS, "left_out", sent, heads).ravel()

    expected = normal_cdf(-math.sqrt(2))
    assert expected == pytest.approx(0.0786, abs=5e-5)
    assert left_out == pytest.approx(expected, abs=3.5 * math.sqrt(expected / SETS))


def test_what_two_heads_keep_near_the_average_follows_from_the_stretch_alone() -> None:
    sent = {"share_near_average": 1, "variance_1": 0, "variance_2": 0, "left_out_share": 0.08}
    for scale, stated in ((10, 0.91), (20, 0.96), (100, 0.99)):
        heads = {"q1": f"{scale} mu_a", "q2": f"{scale} mu_b"}
        formula = "share(distance(c, (v_a + v_b) / 2) <= 0.1 D)"
        (share,) = measured(TWO_HEADS, formula, sent, heads).ravel()

        assert share == pytest.approx(stated, abs=0.02)


def test_the_noise_of_the_two_scores_has_the_stated_size() -> None:
    question = "self-attention-and-transformers/c-i"
    judge = judge_of(question)
    submission = submit(question, {"q": "500 (mu_a + mu_b)"})
    node = read_tree("unit(a)^T (k q) - unit(b)^T (k q)", rubric_of(question).scope)
    source = NoiseSource(judge.bank, judge.context.key, "grading", 0, SETS)
    (difference,) = observe(judge.question, judge.environment(submission), [node], source).values

    # |q| = 500 sqrt 2, and each score has the deviation sqrt(alpha) |q|: 2 C sqrt(alpha) in all.
    alpha = min(1e-12, (1e-3 / (500 * math.sqrt(2))) ** 2)
    assert difference.std() == pytest.approx(2 * 500 * math.sqrt(alpha), rel=0.03)
    assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(SETS)
