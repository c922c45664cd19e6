"""When answers are taken, and what lateness costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.policies import CountedAttempt, Feedback, Phase, Policy, Window, normalize_points

DUE = datetime(2026, 11, 20, 22, 59, 59, tzinfo=UTC)
WINDOW = Window(
    opens_at=DUE - timedelta(days=14),
    due_at=DUE,
    grace_seconds=60,
    per_day=Decimal("0.1"),
    most_late_days=3,
)


@pytest.mark.parametrize(
    ("after_due", "phase", "days"),
    [
        pytest.param(timedelta(days=-14, seconds=-1), Phase.NOT_OPEN, 0, id="before it opens"),
        pytest.param(timedelta(days=-14), Phase.OPEN, 0, id="at the opening"),
        pytest.param(timedelta(0), Phase.OPEN, 0, id="at the due date"),
        pytest.param(timedelta(seconds=60), Phase.OPEN, 0, id="within the grace"),
        pytest.param(timedelta(seconds=60, microseconds=1), Phase.LATE, 1, id="after the grace"),
        pytest.param(timedelta(days=1), Phase.LATE, 1, id="a whole day"),
        pytest.param(timedelta(days=1, seconds=1), Phase.LATE, 2, id="the second day has begun"),
        pytest.param(timedelta(days=3), Phase.LATE, 3, id="the last moment"),
        pytest.param(timedelta(days=3, microseconds=1), Phase.CLOSED, 4, id="too late"),
    ],
)
def test_a_moment_lies_in_one_phase(after_due: timedelta, phase: Phase, days: int) -> None:
    assert WINDOW.phase(DUE + after_due) is phase
    assert WINDOW.days_late(DUE + after_due) == days


def test_without_late_days_the_grace_is_the_end() -> None:
    window = Window(None, DUE, grace_seconds=60, per_day=Decimal(0), most_late_days=0)

    assert window.phase(DUE + timedelta(seconds=60)) is Phase.OPEN
    assert window.phase(DUE + timedelta(seconds=61)) is Phase.CLOSED


def test_without_a_due_date_nothing_is_ever_late() -> None:
    window = Window(None, None, grace_seconds=0, per_day=Decimal(1), most_late_days=0)

    assert window.phase(DUE + timedelta(days=10_000)) is Phase.OPEN
    assert window.closes_at is None


def test_each_begun_day_costs_its_share_and_never_more_than_everything() -> None:
    assert WINDOW.reduced(Decimal("7.5"), 0) == Decimal("7.5")
    assert WINDOW.reduced(Decimal("7.5"), 2) == Decimal(6)
    assert WINDOW.reduced(Decimal("7.5"), 11) == 0


@given(st.decimals(0, 1000, places=2), st.integers(0, 30))
def test_what_is_left_has_two_decimals_and_lies_between_nothing_and_all(
    points: Decimal, days: int
) -> None:
    left = WINDOW.reduced(points, days)

    assert 0 <= left <= points
    assert left == normalize_points(left)


@given(st.integers(-40 * 86_400, 40 * 86_400), st.integers(0, 86_400))
def test_waiting_longer_never_makes_an_answer_less_late(seconds: int, more: int) -> None:
    earlier, later = DUE + timedelta(seconds=seconds), DUE + timedelta(seconds=seconds + more)

    assert WINDOW.days_late(earlier) <= WINDOW.days_late(later)


@pytest.mark.parametrize(
    ("feedback", "before", "after"),
    [
        (Feedback.FULL, True, True),
        (Feedback.CORRECTNESS, True, True),
        (Feedback.AFTER_DUE, False, True),
        (Feedback.NONE, False, False),
    ],
)
def test_the_policy_says_when_a_result_is_shown(
    feedback: Feedback, before: bool, after: bool
) -> None:
    policy = Policy(WINDOW, 3, CountedAttempt.BEST, feedback)

    # After the due date others may still hand in late, and could be told.
    assert policy.shows_result(DUE + timedelta(days=2)) is before
    assert policy.shows_result(DUE + timedelta(days=3, seconds=1)) is after
