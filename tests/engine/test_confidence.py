from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.engine.confidence import Share, compute_wilson_interval


@given(st.integers(1, 5000), st.data())
def test_wilson_bounds_are_the_roots_of_the_score_equation(tried: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, tried))
    interval = compute_wilson_interval(passed, tried)
    share = passed / tried

    # The bounds are where the observed share lies exactly z standard errors away.
    for bound in (interval.low, interval.high):
        if 0 < bound < 1:
            error = math.sqrt(bound * (1 - bound) / tried)
            assert abs(share - bound) == pytest.approx(3.3 * error, rel=1e-6, abs=1e-9)
    assert 0 <= interval.low <= share <= interval.high <= 1


def test_all_of_two_thousand_clears_ninety_nine_percent() -> None:
    assert Share(2000, 2000).clears(0.99)
    assert not Share(1000, 1000).clears(0.99)


def test_a_share_at_the_threshold_is_neither_cleared_nor_missed() -> None:
    at_threshold = Share(1800, 2000)

    assert not at_threshold.clears(0.9)
    assert not at_threshold.misses(0.9)


def test_nothing_tried_decides_nothing() -> None:
    nothing = Share(0, 0)

    assert not nothing.clears(0.5)
    assert not nothing.misses(0.5)
    assert nothing.value == 0.0
