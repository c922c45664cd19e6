"""Softmax around centres is the softmax of the sum, by whichever way it is computed."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.formula.eval.buffers import FRESH, KeptBuffers
from grader.formula.eval.softmax import softmax, softmax_around

ANSWERS, KEYS, SETS = 3, 5, 40

#: Noise up to this, and whether exponentials of it are computed one by one.
REACHES = [
    pytest.param(1e-9, False, id="one term of the series"),
    pytest.param(3.9e-5, False, id="the most for two terms"),
    pytest.param(7e-4, False, id="the most for three terms"),
    pytest.param(4.1e-3, False, id="the most for four terms"),
    pytest.param(1.4e-2, False, id="the most for five terms"),
    pytest.param(3.3e-2, False, id="the most for six terms"),
    pytest.param(3.6e-2, True, id="too much for a series"),
    pytest.param(100.0, True, id="near enough to zero"),
    pytest.param(1e4, True, id="exponentials would overflow"),
]


def draw_scores(reach: float, *, spread: float = 20.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Centres and noise; the noise of each answer goes up to the reach."""
    generator = np.random.default_rng(3)
    noise = generator.uniform(-reach, reach, (ANSWERS, KEYS, SETS))
    noise[:, 0, 0], noise[:, 1, 0] = reach, -reach
    return generator.normal(0, spread, (ANSWERS, KEYS, 1)), noise


def compute_weights(
    centres: NDArray[Any], noise: NDArray[Any], reach: float | NDArray[Any]
) -> NDArray[Any]:
    reaches = np.broadcast_to(reach, (ANSWERS,))
    return softmax_around(centres, noise.copy(), reach=reaches, buffers=FRESH)


def compute_expected(centres: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    scores = (centres + noise).astype(np.longdouble)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("reach", "is_exponential"), REACHES)
def test_weights_around_centres_are_those_of_the_sum(reach: float, is_exponential: bool) -> None:
    centres, noise = draw_scores(reach)

    weights = compute_weights(centres, noise, reach)

    expected = compute_expected(centres, noise)
    is_something = expected > np.exp(np.longdouble(-700))
    # Scores are rounded, which the exponential multiplies by the size of the scores.
    np.testing.assert_allclose(weights[is_something], expected[is_something], rtol=2e-12)
    assert (weights[~is_something] == 0).all()


@pytest.mark.parametrize(("reach", "is_exponential"), REACHES)
def test_exponentials_of_little_noise_are_not_computed_one_by_one(
    reach: float, is_exponential: bool
) -> None:
    centres, noise = draw_scores(reach)

    with patch.object(np, "exp", wraps=np.exp) as exp:
        compute_weights(centres, noise, reach)

    assert (max(call.args[0].size for call in exp.call_args_list) == noise.size) == is_exponential


def test_the_series_leaves_out_less_than_rounding_does() -> None:
    # Around zero nothing is rounded, so that only the series is seen.
    for reach in (3.9e-5, 7e-4, 4.1e-3, 1.4e-2, 3.3e-2):
        centres, noise = draw_scores(reach, spread=0.0)
        weights = compute_weights(centres, noise, reach)
        np.testing.assert_allclose(weights, compute_expected(centres, noise), rtol=2.5e-14)


def test_a_weight_that_is_nothing_is_exactly_zero_around_centres_too() -> None:
    centres = np.broadcast_to(np.array([360.0, 0.0, -339.0, -341.0, -360.0])[:, None], (3, 5, 1))
    _, noise = draw_scores(1e-6)

    weights = compute_weights(centres, noise, 1e-6)

    assert (weights[:, 3:] == 0).all()
    assert (weights[:, 2] > 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e5])
def test_an_answer_that_cannot_be_computed_leaves_the_others_alone(bad: float) -> None:
    centres, noise = draw_scores(1e-4)
    alone = compute_weights(centres, noise, 1e-4)
    centres[1, 2] = bad

    with np.errstate(invalid="ignore"):
        together = compute_weights(centres, noise, 1e-4)

    np.testing.assert_allclose(together[[0, 2]], alone[[0, 2]], rtol=1e-12)
    assert np.isnan(together[1]).all() == (not np.isfinite(bad))


def test_centres_that_all_answers_share_are_those_of_each() -> None:
    centres, noise = draw_scores(1e-4)
    shared = centres[:1]

    weights = compute_weights(shared, noise, 1e-4)

    expected = compute_weights(np.broadcast_to(shared, centres.shape), noise, 1e-4)
    np.testing.assert_array_equal(weights, expected)


def test_weights_lie_where_the_noise_was_and_not_in_scratch_memory() -> None:
    centres, noise = draw_scores(1e-4)
    buffers = KeptBuffers()

    weights = softmax_around(centres, noise, reach=np.full(ANSWERS, 1e-4), buffers=buffers)
    before = weights.copy()
    buffers.scratch(noise.shape)[:] = 0

    assert weights is noise
    np.testing.assert_array_equal(weights, before)


def test_a_weight_that_is_nothing_is_zero_and_has_no_finite_logarithm() -> None:
    scores = np.array([[[0.0, -699.0, -701.0, -5000.0]], [[4000.0, 3301.0, 3299.0, -np.inf]]])

    weights = softmax(scores)

    assert (weights[..., 2:] == 0.0).all()
    assert weights[..., 1] == pytest.approx(np.exp(-699.0), rel=1e-12)
    with np.errstate(divide="ignore"):
        assert np.isinf(np.log(weights)).sum() == 4
    assert np.isnan(softmax(np.array([[[0.0, np.nan, -5000.0]]]))).all()
