from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from grader.domain.statistics import (
    MIN_STUDENTS,
    AttemptArrays,
    Correlation,
    TimeToCorrect,
    compute_difficulty,
    compute_discrimination,
    compute_first_scores,
    compute_success_rate,
    compute_time_to_correct,
    correlate,
    count_per_hour,
    estimate_survival,
)
from tests.docs.pages import ROOT, read_tables

MINUTE = 60 * 1_000_000
PAGE = ROOT / "docs/explanation/what-the-statistics-mean.md"
NEVER_SEEN = -1


def whole(numbers: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64).reshape(-1)


def tries_of(
    points: list[list[int]], *, possible: int = 800, minutes: list[list[float]] | None = None
) -> AttemptArrays:
    """Each student's attempts in order, by points; and when, in minutes since the start."""
    rows = []
    for student, earned in enumerate(points):
        for place, each in enumerate(earned):
            at = minutes[student][place] if minutes else place
            rows.append((student, place + 1, each, possible, round(at * MINUTE)))
    # In no order that anything could rely on.
    rows.sort(key=lambda row: (row[1] * 7919 + row[0] * 104729) % 101)
    columns = zip(*rows, strict=True) if rows else ([],) * 5
    return AttemptArrays(*(whole(list(column)) for column in columns))


def quartiles_of(found: TimeToCorrect) -> tuple[float | None, ...] | None:
    seconds = (found.lower_quartile_seconds, found.median_seconds, found.upper_quartile_seconds)
    return None if found.median_seconds is None else seconds


CLASSES = st.lists(
    st.lists(st.sampled_from([0, 300, 800]), min_size=1, max_size=6), min_size=0, max_size=12
)


# Difficulty and success


def test_difficulty_is_the_mean_share_of_first_attempts() -> None:
    found = compute_difficulty(tries_of([[800], [0, 800], [300, 0, 800], [400]]))

    assert found.n == 4
    assert found.value == pytest.approx((1 + 0 + 3 / 8 + 1 / 2) / 4)


def test_difficulty_goes_by_what_each_attempt_could_earn() -> None:
    """A rubric may have had other points when an attempt was judged."""
    tries = AttemptArrays(
        whole([0, 1]), whole([1, 1]), whole([400, 400]), whole([800, 400]), whole([0, 0])
    )

    assert compute_difficulty(tries).value == pytest.approx(0.75)


def test_success_goes_by_the_best_attempt_and_not_by_the_last() -> None:
    found = compute_success_rate(tries_of([[800, 0], [0, 300], [0, 800], [799]]))

    assert (found.n, found.value) == (4, 0.5)


def test_without_attempts_there_is_no_figure() -> None:
    nobody = tries_of([])

    assert (compute_difficulty(nobody).n, compute_difficulty(nobody).value) == (0, None)
    assert (compute_success_rate(nobody).n, compute_success_rate(nobody).value) == (0, None)
    assert (estimate_survival(nobody).n, estimate_survival(nobody).steps) == (0, ())


@given(CLASSES)
def test_shares_lie_between_none_and_all(points: list[list[int]]) -> None:
    tries = tries_of(points)

    for found in (compute_difficulty(tries), compute_success_rate(tries)):
        assert found.n == len(points)
        assert found.value is None or 0 <= found.value <= 1


# Discrimination


def numbers(seed: int, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.random.default_rng(seed).integers(0, 800, shape).astype(np.float64)


def test_correlation_agrees_with_numpy() -> None:
    left, right = numbers(1, (50,)), numbers(2, (50,))
    right += left

    found = correlate(left, right)

    assert found.n == 50
    assert found.value == pytest.approx(np.corrcoef(left, right)[0, 1], abs=1e-12)


def test_the_interval_is_the_textbooks() -> None:
    """r = 0.5 and n = 28: Fisher's z is 0.5493, give or take 1.96 / 5."""
    x = np.tile([1.0, 1.0, -1.0, -1.0], 7)
    y = x + math.sqrt(3) * np.tile([1.0, -1.0, 1.0, -1.0], 7)

    found = correlate(x, y)

    assert found.value == pytest.approx(0.5)
    assert found.interval == pytest.approx((0.15602, 0.73582), abs=1e-5)


@pytest.mark.parametrize(
    ("sign", "expected"), [pytest.param(1, 1.0, id="along"), pytest.param(-1, -1.0, id="against")]
)
def test_a_perfect_correlation_has_an_interval_of_one_point(sign: int, expected: float) -> None:
    found = correlate(np.arange(30.0), sign * np.arange(30.0))

    assert found.value == pytest.approx(expected)
    assert found.interval == pytest.approx((expected, expected))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(numbers(1, (19,)), numbers(2, (19,)), id="too few students"),
        pytest.param(np.full(30, 300.0), numbers(2, (30,)), id="all have the same at the question"),
        pytest.param(numbers(1, (30,)), np.zeros(30), id="all have the same at the others"),
        pytest.param(np.zeros(0), np.zeros(0), id="nobody"),
    ],
)
def test_a_correlation_that_says_nothing_is_not_told(left: ArrayLike, right: ArrayLike) -> None:
    left, right = np.asarray(left), np.asarray(right)

    assert correlate(left, right) == Correlation(len(left))
    assert not correlate(left, right).is_dubious


def test_twenty_students_are_enough() -> None:
    assert correlate(numbers(1, (MIN_STUDENTS,)), numbers(2, (MIN_STUDENTS,))).value


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.099, True), (0.1, False), (-0.5, True), (None, False)],
)
def test_below_a_tenth_is_dubious(value: float | None, expected: bool) -> None:
    assert Correlation(30, value).is_dubious is expected


@given(st.integers(0, 2**32 - 1), st.integers(20, 60), st.integers(2, 5))
def test_correlations_lie_within_their_interval_and_between_minus_one_and_one(
    seed: int, students: int, questions: int
) -> None:
    found = compute_discrimination(numbers(seed, (students, questions)), 0)

    assert found.value is not None
    assert found.interval is not None
    assert -1 <= found.interval[0] <= found.value <= found.interval[1] <= 1


@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_the_question_is_taken_out_of_the_total(seed: int, item: int) -> None:
    scores = numbers(seed, (40, 4))
    total = scores.sum(axis=1)

    found = compute_discrimination(scores, item)

    assert found.value == pytest.approx(
        np.corrcoef(scores[:, item], total - scores[:, item])[0, 1], abs=1e-12
    )


def test_questions_that_have_nothing_to_do_with_each_other_do_not_seem_to() -> None:
    """With the question left in, the total of two would correlate with it by 0.7."""
    scores = numbers(3, (4000, 2))

    value = compute_discrimination(scores, 0).value
    assert value is not None
    assert abs(value) < 0.05
    assert np.corrcoef(scores[:, 0], scores.sum(axis=1))[0, 1] > 0.65


def test_who_did_not_try_the_question_is_not_counted_and_what_was_not_tried_adds_nothing() -> None:
    scores = numbers(4, (60, 3))
    scores[:10, 0] = np.nan
    scores[30:40, 1] = np.nan

    found = compute_discrimination(scores, 0)

    others = np.where(np.isnan(scores[10:, 1]), 0, scores[10:, 1]) + scores[10:, 2]
    assert found.n == 50
    assert found.value == pytest.approx(np.corrcoef(scores[10:, 0], others)[0, 1], abs=1e-12)


def test_the_only_question_has_nothing_to_go_along_with() -> None:
    assert compute_discrimination(numbers(5, (30, 1)), 0) == Correlation(30)


def test_first_scores_are_those_of_first_attempts() -> None:
    scores = compute_first_scores(tries_of([[300, 800], [0]]), 4)

    assert scores[:2].tolist() == [300, 0]
    assert np.isnan(scores[2:]).all()


# Attempts to solve


SMALL_CLASS = [[800], [800, 0, 0, 0], [0], [0, 800], [0, 300], [0, 0, 800]]


def test_survival_of_a_small_class_worked_by_hand() -> None:
    """Six try; two solve it at once. Of four, one stops, and one of the other three solves it.

    Then two are left of whom one stops, and the last one solves it at the third attempt.
    """
    found = estimate_survival(tries_of(SMALL_CLASS))

    assert (found.n, found.censored) == (6, 2)
    assert [(each.attempt, each.tried, each.solved) for each in found.steps] == [
        (1, 6, 2),
        (2, 3, 1),
        (3, 1, 1),
    ]
    assert [each.unsolved for each in found.steps] == pytest.approx([2 / 3, 4 / 9, 0])


def test_the_page_about_statistics_shows_this_class() -> None:
    (table,) = read_tables(PAGE.read_text(encoding="utf-8"))
    steps = estimate_survival(tries_of(SMALL_CLASS)).steps

    assert [
        {
            "attempt": str(each.attempt),
            "tried": str(each.tried),
            "solved": str(each.solved),
            "unsolved": f"{each.unsolved:.3g}",
        }
        for each in steps
    ] == list(table.rows)


def test_students_who_stop_do_not_count_as_unable() -> None:
    """Nine of ten stop after a first miss; the one who goes on solves it."""
    found = estimate_survival(tries_of([[0]] * 9 + [[0, 800]]))

    assert found.censored == 9
    assert [each.unsolved for each in found.steps] == [1, 0]


@given(CLASSES)
def test_survival_never_rises_and_stays_between_none_and_all(points: list[list[int]]) -> None:
    found = estimate_survival(tries_of(points))

    shares = [1.0, *(each.unsolved for each in found.steps)]
    assert all(0 <= later <= earlier <= 1 for earlier, later in pairwise(shares))
    assert all(each.tried > 0 for each in found.steps)
    assert sum(each.solved for each in found.steps) + found.censored == found.n == len(points)


@given(CLASSES)
def test_survival_agrees_with_its_definition(points: list[list[int]]) -> None:
    share = 1.0
    expected = []
    for j in range(1, max(map(len, points), default=0) + 1):
        at_risk = [each for each in points if len(each) >= j and 800 not in each[: j - 1]]
        if at_risk:
            share *= 1 - sum(each[j - 1] == 800 for each in at_risk) / len(at_risk)
            expected.append(share)

    assert [each.unsolved for each in estimate_survival(tries_of(points)).steps] == pytest.approx(
        expected
    )


# Time to the first correct attempt


def seen(*minutes: float | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return whole([NEVER_SEEN if each is None else round(each * MINUTE) for each in minutes])


def test_time_runs_from_the_view_to_the_first_correct_attempt() -> None:
    tries = tries_of([[0, 800, 800]], minutes=[[15, 25, 40]])

    found = compute_time_to_correct(tries, seen(10))
    assert (found.n, quartiles_of(found)) == (1, (900, 900, 900))


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        pytest.param([10, 40], 40, id="half an hour is no break"),
        pytest.param([10, 40 + 1 / 60], 10, id="a second more is one"),
        pytest.param([31, 36], 5, id="a break after the view"),
        pytest.param([600, 1000], None, id="nothing but breaks"),
        pytest.param([0, 0], 0, id="at once"),
    ],
)
def test_breaks_of_more_than_half_an_hour_are_cut_out(
    minutes: list[float], expected: float | None
) -> None:
    found = compute_time_to_correct(tries_of([[0, 800]], minutes=[minutes]), seen(0))

    if expected is None:
        assert (found.n, found.untimed, quartiles_of(found)) == (0, 1, None)
    else:
        assert quartiles_of(found) == (expected * 60,) * 3


def test_who_has_not_solved_it_is_counted_and_not_timed() -> None:
    tries = tries_of([[800], [0, 300], [0]], minutes=[[1], [1, 2], [1]])

    found = compute_time_to_correct(tries, seen(0, 0, None, 0, None))

    # Two tried in vain, and one has only looked; the last has done neither.
    assert (found.n, found.censored, found.untimed) == (1, 3, 0)


@pytest.mark.parametrize(
    "view", [pytest.param(None, id="never seen"), pytest.param(2, id="seen after the first try")]
)
def test_who_began_without_a_view_is_not_timed(view: float | None) -> None:
    found = compute_time_to_correct(tries_of([[0, 800]], minutes=[[1, 5]]), seen(view))

    assert (found.n, found.censored, found.untimed) == (0, 0, 1)


def test_attempts_that_overtook_each_other_do_not_shorten_the_time() -> None:
    """The second attempt arrived first; both are events on the way."""
    found = compute_time_to_correct(tries_of([[0, 0, 800]], minutes=[[9, 8, 20]]), seen(0))

    assert quartiles_of(found) == (1200,) * 3


def test_quartiles_are_those_of_numpy() -> None:
    minutes = [3.0, 4.5, 8.0, 20.0, 29.0]

    found = compute_time_to_correct(tries_of([[800]] * 5, minutes=[[each] for each in minutes]),
                            seen(*[0] * 5))  # fmt: skip
    assert quartiles_of(found) == pytest.approx(np.quantile(minutes, [0.25, 0.5, 0.75]) * 60)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 100)),
            st.lists(st.tuples(st.integers(0, 200), st.sampled_from([0, 800])), max_size=5),
        ),
        max_size=6,
    )
)
def test_times_agree_with_their_definition(
    students: list[tuple[int | None, list[tuple[int, int]]]],
) -> None:
    minutes: list[list[float]] = [[at for at, _ in attempts] for _, attempts in students]
    tries = tries_of([[points for _, points in attempts] for _, attempts in students],
                     minutes=minutes)  # fmt: skip
    counts: dict[str, int] = defaultdict(int)
    times = []
    for view, attempts in students:
        solved_at = next((at for at, points in attempts if points == 800), None)
        if solved_at is None:
            counts["censored"] += view is not None or bool(attempts)
            continue
        events = sorted(at for at, _ in attempts if at <= solved_at)
        pauses = np.diff([view if view is not None else math.inf, *events])
        kept = pauses[pauses <= 30]
        if view is None or view > events[0] or not len(kept):
            counts["untimed"] += 1
        else:
            times.append(kept.sum() * 60)

    found = compute_time_to_correct(tries, seen(*(view for view, _ in students)))

    assert (found.n, found.censored, found.untimed) == (
        len(times), counts["censored"], counts["untimed"],
    )  # fmt: skip
    if times:
        assert quartiles_of(found) == pytest.approx(np.quantile(times, [0.25, 0.5, 0.75]))


# Posts


def test_posts_are_counted_by_the_hour_and_empty_hours_left_out() -> None:
    hour = 60 * MINUTE
    moments = whole([5 * hour, 5 * hour - 1, 5 * hour + 59 * MINUTE, 9 * hour])

    assert count_per_hour(moments) == [(4 * hour, 1), (5 * hour, 2), (9 * hour, 1)]
    assert count_per_hour(whole([])) == []
