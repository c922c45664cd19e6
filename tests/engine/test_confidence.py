from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.verdicts import Interval
from grader.engine.confidence import (
    compute_wilson_high,
    compute_wilson_interval,
    compute_wilson_low,
)

Z = 3.3


@given(st.integers(1, 5000), st.data())
def test_wilson_bounds_are_the_roots_of_the_score_equation(tried: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, tried))
    interval = compute_wilson_interval(passed, tried, Z)
    share = passed / tried

    # The bounds are where the observed share lies exactly z standard errors away.
    for bound in (interval.low, interval.high):
        if 0 < bound < 1:
            error = math.sqrt(bound * (1 - bound) / tried)
            assert abs(share - bound) == pytest.approx(Z * error, rel=1e-6, abs=1e-9)
    assert 0 <= interval.low <= share <= interval.high <= 1


def test_all_of_two_thousand_clears_ninety_nine_percent() -> None:
    assert compute_wilson_interval(2000, 2000, Z).low >= 0.99
    assert compute_wilson_interval(1000, 1000, Z).low < 0.99


def test_a_share_at_the_threshold_is_neither_cleared_nor_missed() -> None:
    at_threshold = compute_wilson_interval(1800, 2000, Z)

    assert at_threshold.low < 0.9 < at_threshold.high


def test_nothing_tried_decides_nothing() -> None:
    assert compute_wilson_interval(0, 0, Z) == Interval(0.0, 1.0)


def test_many_shares_at_once_have_the_bounds_that_each_has_alone() -> None:
    passed, tried = np.array([[0, 7], [20, 3]]), np.array([[0], [20]])

    low = compute_wilson_low(np.minimum(passed, tried), tried, Z)
    high = compute_wilson_high(np.minimum(passed, tried), tried, Z)

    for row, column in np.ndindex(2, 2):
        count = int(tried[row, 0])
        alone = compute_wilson_interval(min(int(passed[row, column]), count), count, Z)
        assert (float(low[row, column]), float(high[row, column])) == (alone.low, alone.high)
