"""Issue 10, item 7: the statistics are what they claim, over the whole schedule of looks.

A share exactly at the threshold is awarded in at most one case in 2 000, and refused in as few.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.engine.judge.prefilter import KEY_SETS
from grader.engine.judge.tallies import Scale
from grader.engine.question import MeasuredCriterion
from grader.engine.sequential import MIN_Z, Threshold, compute_threshold
from tests.support.exact_looks import (
    compute_errors,
    compute_errors_with_left_out,
    compute_outcomes,
)
from tests.support.rubrics import rubric_of

THREE, TWO = (2000, 8000, 32_000), (8000, 32_000)
SCHEDULES = [
    pytest.param(THREE, id="from 2 000"),
    pytest.param(TWO, id="from 8 000"),
    pytest.param((32_000,), id="one look"),
    pytest.param((100, *THREE), id="from 100"),
]
RUNS = 400_000
ERROR = 0.0005


def make_scale(*columns: int, is_filtered: bool = False) -> Scale:
    """Some of the levels of the weights in c-i, which need shares of 0.99 and 0.9."""
    question = rubric_of("self-attention-and-transformers/c-i").question
    criterion, key_sets = question.criterion("weights"), question.key_sets
    assert isinstance(criterion, MeasuredCriterion)
    assert key_sets is not None
    assert key_sets.counts == THREE
    if is_filtered:
        other = rubric_of("self-attention-and-transformers/d-ii").question.key_sets
        assert other is not None
        assert other.keep is not None
        key_sets = replace(key_sets, keep=other.keep)
    levels = tuple(criterion.levels[column] for column in columns)
    return Scale.of(replace(criterion, levels=levels), key_sets)


@pytest.mark.parametrize("counts", SCHEDULES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95, 0.99, 0.999])
def test_the_z_are_the_smallest_that_keep_both_errors(
    share: float, counts: tuple[int, ...]
) -> None:
    chosen = compute_threshold(share, counts)
    smaller = Threshold(share, chosen.z_award - 0.01, chosen.z_refuse - 0.01)

    for z, error, error_before in zip(
        (chosen.z_award, chosen.z_refuse),
        compute_errors(chosen, counts),
        compute_errors(smaller, counts),
        strict=True,
    ):
        assert error <= ERROR
        assert z == MIN_Z or error_before > ERROR


def test_one_z_of_3_3_was_wrong_more_than_three_times_as_often_as_claimed() -> None:
    awarded, refused = compute_errors(Threshold(0.99, 3.3, 3.3), THREE)

    assert awarded + refused == pytest.approx(0.0034, abs=5e-5)
    assert refused > 4 * awarded


def test_awarding_and_refusing_mirror_each_other() -> None:
    high, low = compute_threshold(0.95, THREE), compute_threshold(0.05, THREE)

    assert (high.z_award, high.z_refuse) == (low.z_refuse, low.z_award)


def test_a_share_of_one_is_never_awarded_and_refused_after_any_failure() -> None:
    threshold = compute_threshold(1.0, THREE)

    assert not threshold.is_awarded(32_000, 32_000)
    assert not threshold.is_refused(32_000, 32_000)
    assert threshold.is_refused(31_999, 32_000)


@pytest.mark.parametrize(
    ("share", "counts", "kept"),
    [
        pytest.param(0.99, THREE, 0.99, id="0.99 from 2 000, nearly all kept"),
        pytest.param(0.99, THREE, 0.92, id="0.99 from 2 000, 92 % kept"),
        pytest.param(0.99, THREE, 0.5, id="0.99 from 2 000, half kept"),
        pytest.param(0.99, TWO, 0.92, id="0.99 from 8 000, 92 % kept"),
        pytest.param(0.99, (500, *THREE), 0.5, id="0.99 from 500, half kept"),
        pytest.param(0.99, (KEY_SETS,), 0.7, id="0.99 in the prefilter, 70 % kept"),
        pytest.param(0.9, THREE, 0.92, id="0.9 from 2 000, 92 % kept"),
        pytest.param(0.9, TWO, 0.92, id="0.9 from 8 000, 92 % kept"),
        pytest.param(0.9, (KEY_SETS,), 0.7, id="0.9 in the prefilter, 70 % kept"),
        pytest.param(0.5, (2000, 8000), 0.5, id="0.5, half kept"),
    ],
)
def test_the_errors_are_kept_where_key_sets_are_left_out(
    share: float, counts: tuple[int, ...], kept: float
) -> None:
    threshold = compute_threshold(share, counts, is_filtered=True)

    assert max(compute_errors_with_left_out(threshold, counts, kept)) <= ERROR


def test_the_nominal_z_would_not_keep_the_errors_where_key_sets_are_left_out() -> None:
    errors = compute_errors_with_left_out(compute_threshold(0.99, TWO), TWO, 0.92)

    assert sum(errors) > 2 * ERROR


@pytest.mark.parametrize("share", [0.9, 0.99])
def test_the_prefilter_rejects_a_share_at_the_threshold_once_in_2000(share: float) -> None:
    _, refused = compute_errors(compute_threshold(share, (KEY_SETS,)), (KEY_SETS,))

    assert 0 < refused <= ERROR


@pytest.mark.parametrize("column", [0, 1])
def test_a_share_is_decided_if_and_only_if_its_interval_says_so(column: int) -> None:
    scale = make_scale(column)
    (threshold,) = scale.thresholds
    assert threshold is not None

    for passed in range(2001):
        interval = threshold.compute_interval(passed, 2000)
        ruling = scale.rule((passed,), 2000)
        assert bool(ruling.credit) == (interval.low >= threshold.share)
        assert ruling.is_open == (interval.low < threshold.share <= interval.high)
        assert bool(ruling.possible) == (interval.high >= threshold.share)


def test_a_filtered_question_has_wider_intervals() -> None:
    plain, filtered = make_scale(0, 1), make_scale(0, 1, is_filtered=True)

    for wide, narrow in zip(filtered.thresholds, plain.thresholds, strict=True):
        assert wide is not None
        assert narrow is not None
        assert wide.z_award > narrow.z_award
        assert wide.z_refuse > narrow.z_refuse


@pytest.mark.parametrize("true_share", [0.988, 0.99, 0.992, 0.9, 0.905])
def test_a_simulation_agrees_with_the_exact_calculation(true_share: float) -> None:
    column = 0 if true_share > 0.95 else 1
    awarded, refused, key_sets = simulate(true_share, column)
    (threshold,) = make_scale(column).thresholds
    assert threshold is not None
    exact = compute_outcomes(threshold, THREE, true_share)

    for share, probability in ((awarded, exact.awarded), (refused, exact.refused)):
        # Seldom outcomes are as far off as counts of a Poisson distribution are.
        error = np.sqrt(max(probability * (1 - probability), 1 / RUNS) / RUNS)
        assert share == pytest.approx(probability, abs=4 * error)
    assert key_sets == pytest.approx(exact.key_sets, rel=0.01)


def simulate(true_share: float, column: int) -> tuple[float, float, float]:
    """How often the scale awards and refuses a level, and on how many key sets on average."""
    generator = np.random.default_rng(20_251_020)
    scale = make_scale(column)
    passed = np.zeros(RUNS, dtype=int)
    is_open = np.ones(RUNS, dtype=bool)
    awarded = drawn = 0
    for before, tried in zip((0, *THREE), THREE, strict=False):
        drawn += int(is_open.sum()) * (tried - before)
        passed += generator.binomial(tried - before, true_share, RUNS)
        counts, places = np.unique(passed, return_inverse=True)
        rulings = [scale.rule((each,), tried) for each in counts.tolist()]
        awarded += int((is_open & np.array([bool(each.credit) for each in rulings])[places]).sum())
        is_open &= np.array([each.is_open for each in rulings])[places]
    refused = RUNS - awarded - int(is_open.sum())
    return awarded / RUNS, refused / RUNS, drawn / RUNS


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("tried", [0, 1, 7, 500, 2000])
def test_the_limits_of_counts_decide_as_the_interval_does(share: float, tried: int) -> None:
    threshold = compute_threshold(share, THREE)
    passed = np.arange(tried + 1)

    limits = threshold.compute_limits(tried)

    np.testing.assert_array_equal(
        passed >= limits.awarded_from, threshold.is_awarded(passed, tried)
    )
    np.testing.assert_array_equal(passed <= limits.refused_to, threshold.is_refused(passed, tried))
