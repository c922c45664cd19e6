"""What attempts, reviews, scores from outside and overrides come to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.grades import (
    DecidedScore,
    ScoredAttempt,
    choose_counted,
    compute_total,
    settle,
    settle_next,
)
from grader.domain.policies import CountedAttempt, Feedback, Policy, Window

DUE = datetime(2026, 11, 20, tzinfo=UTC)
POLICY = Policy(Window(None, DUE, 0, Decimal("0.25"), 4), 10, CountedAttempt.BEST, Feedback.FULL)


TEN = Decimal(10)


def decided(points: str, possible: str = "10") -> DecidedScore:
    return DecidedScore(Decimal(points), Decimal(possible))


def attempt(number: int, points: str, *, days_late: int = 0, pending: str = "0") -> ScoredAttempt:
    received_at = DUE - timedelta(hours=20 - number) + timedelta(days=days_late)
    return ScoredAttempt(
        f"att_{number}", number, received_at, Decimal(points), TEN, Decimal(pending), False
    )


def test_a_free_attempt_uses_none_and_counts_like_any_other() -> None:
    free = attempt(2, "8")._replace(is_free=True)

    standing = settle(POLICY, [attempt(1, "2"), free, attempt(3, "5")], possible=TEN)

    assert standing.attempts == 2
    assert standing.counted_attempt_id == free.id


@pytest.mark.parametrize(("used", "left"), [(0, 10), (9, 1), (10, 0), (12, 0)])
def test_no_less_than_zero_attempts_are_left(used: int, left: int) -> None:
    assert POLICY.count_left(used) == left


@pytest.mark.parametrize(
    ("counted", "expected"),
    [(CountedAttempt.BEST, 2), (CountedAttempt.LAST, 3), (CountedAttempt.FIRST, 1)],
)
def test_the_policy_says_which_attempt_counts(counted: CountedAttempt, expected: int) -> None:
    attempts = [attempt(1, "2"), attempt(2, "8"), attempt(3, "5")]

    chosen = choose_counted(replace(POLICY, counted=counted), attempts)

    assert chosen is not None
    assert chosen.number == expected


def test_the_best_is_what_is_best_after_lateness() -> None:
    standing = settle(POLICY, [attempt(1, "6"), attempt(2, "7", days_late=1)], possible=TEN)

    assert standing.counted_attempt_id == "att_1"
    assert standing.points == 6
    assert standing.late_days == 0


def test_a_late_attempt_that_is_better_nevertheless_counts_reduced() -> None:
    standing = settle(POLICY, [attempt(1, "2"), attempt(2, "8", days_late=1)], possible=TEN)

    assert standing.points == 6
    assert standing.late_days == 1


def test_of_equals_the_one_to_which_a_person_may_add_counts() -> None:
    standing = settle(
        POLICY, [attempt(1, "8"), attempt(2, "8", pending="2"), attempt(3, "8")], possible=TEN
    )

    assert standing.counted_attempt_id == "att_2"
    assert standing.pending == 2


def test_of_equals_the_earlier_counts() -> None:
    standing = settle(POLICY, [attempt(2, "8"), attempt(1, "8")], possible=TEN)

    assert standing.counted_attempt_id == "att_1"


def test_an_override_goes_before_everything() -> None:
    standing = settle(
        POLICY,
        [attempt(1, "8", pending="2")],
        possible=TEN,
        external=decided("3"),
        override=decided("4.5"),
    )

    assert standing.points == Decimal("4.5")
    assert standing.pending == 0
    assert standing.is_overridden


def test_an_override_to_zero_is_an_override() -> None:
    assert settle(POLICY, [attempt(1, "8")], possible=TEN, override=decided("0")).points == 0


def test_a_score_from_outside_is_never_late() -> None:
    standing = settle(
        POLICY, [attempt(1, "8", days_late=2)], possible=TEN, external=decided("30", "30")
    )

    assert standing.points == 30
    assert standing.late_days == 0


def test_before_anything_was_done_there_are_no_points() -> None:
    standing = settle(POLICY, [], possible=TEN)

    assert standing.points is None
    assert standing.possible == TEN
    assert standing.attempts == 0
    assert compute_total([standing.points, Decimal(2)]) == 2


def test_points_keep_what_they_were_given_out_of_whatever_the_question_is_worth_by_now() -> None:
    judged = attempt(1, "4")._replace(possible=Decimal(6))

    assert settle(POLICY, [judged], possible=Decimal(9)).possible == 6
    by_staff = settle(POLICY, [judged], possible=Decimal(9), override=decided("5", "7"))
    assert by_staff.points == 5
    assert by_staff.possible == 7
    outside = settle(POLICY, [judged], possible=Decimal(9), external=decided("5", "8"))
    assert outside.points == 5
    assert outside.possible == 8


ATTEMPTS = st.lists(
    st.tuples(st.decimals(0, 10, places=2), st.integers(0, 4)), min_size=1, max_size=8
).map(lambda rows: [attempt(n, str(p), days_late=d) for n, (p, d) in enumerate(rows, 1)])


@given(ATTEMPTS, st.decimals(0, 10, places=2), st.integers(0, 4))
def test_trying_again_never_costs_points_where_the_best_counts(
    attempts: list[ScoredAttempt], points: Decimal, days: int
) -> None:
    more = [*attempts, attempt(len(attempts) + 1, str(points), days_late=days)]
    before = settle(POLICY, attempts, possible=TEN).points
    after = settle(POLICY, more, possible=TEN).points

    assert before is not None
    assert after is not None
    assert after >= before


@given(ATTEMPTS, st.randoms())
def test_the_order_in_which_attempts_are_read_changes_nothing(
    attempts: list[ScoredAttempt], random: object
) -> None:
    shuffled = attempts[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a Random

    assert settle(POLICY, shuffled, possible=TEN) == settle(POLICY, attempts, possible=TEN)


# One attempt after the other

POINTS = st.decimals(0, 10, places=2)
POSSIBLE = st.sampled_from([TEN, Decimal(12)])
MAYBE_DECIDED = st.none() | st.builds(DecidedScore, POINTS, POSSIBLE)


@st.composite
def scored_attempts(draw: st.DrawFn) -> list[ScoredAttempt]:
    """Attempts as they come: some late, free, reviewed, or still to be looked at."""
    return [
        ScoredAttempt(
            f"att_{number}",
            number,
            DUE + timedelta(hours=draw(st.integers(-24, 120))),
            # From few values, so that equals are common.
            points=draw(st.sampled_from([Decimal(0), Decimal("7.5"), Decimal(8)]) | POINTS),
            possible=draw(POSSIBLE),
            pending=draw(st.sampled_from([Decimal(0), Decimal(2), Decimal("2.25")])),
            needs_person=draw(st.booleans()),
            is_free=draw(st.booleans()),
        )
        for number in range(1, draw(st.integers(1, 8)) + 1)
    ]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    window = Window(
        opens_at=None,
        due_at=draw(st.sampled_from([DUE, None])),
        grace_seconds=draw(st.sampled_from([0, 60])),
        per_day=draw(st.sampled_from([Decimal(0), Decimal("0.1"), Decimal("0.33"), Decimal(1)])),
        most_late_days=5,
    )
    return replace(POLICY, window=window, counted=draw(st.sampled_from(CountedAttempt)))


@given(policies(), scored_attempts(), MAYBE_DECIDED, MAYBE_DECIDED)
def test_one_attempt_after_the_other_comes_to_what_all_together_do(
    policy: Policy,
    attempts: list[ScoredAttempt],
    external: DecidedScore | None,
    override: DecidedScore | None,
) -> None:
    counted: ScoredAttempt | None = None
    used = 0
    for number, new in enumerate(attempts, 1):
        standing = settle_next(
            policy, counted, new, used=used, external=external, override=override
        )

        assert standing == settle(
            policy, attempts[:number], possible=TEN, external=external, override=override
        )
        # Nothing is taken over but what is stored with the grade.
        used = standing.attempts
        assert standing.counted_points is not None
        assert standing.counted_pending is not None
        chosen = next(each for each in attempts if each.id == standing.counted_attempt_id)
        counted = ScoredAttempt(
            chosen.id,
            chosen.number,
            chosen.received_at,
            points=standing.counted_points,
            possible=standing.possible,
            pending=standing.counted_pending,
            needs_person=standing.needs_person,
        )


@given(policies(), scored_attempts(), MAYBE_DECIDED, MAYBE_DECIDED, st.data())
def test_an_attempt_after_a_decision_comes_to_what_all_together_do(
    policy: Policy,
    attempts: list[ScoredAttempt],
    external: DecidedScore | None,
    override: DecidedScore | None,
    data: st.DataObject,
) -> None:
    """A review, an override or an extension settles all; the next attempt goes on from there."""
    *before, new = attempts
    reviewed = [each._replace(points=data.draw(POINTS), pending=Decimal(0)) for each in before]

    standing = settle_next(
        policy,
        choose_counted(policy, reviewed),
        new,
        used=settle(policy, reviewed, possible=TEN).attempts,
        external=external,
        override=override,
    )

    assert standing == settle(
        policy, [*reviewed, new], possible=TEN, external=external, override=override
    )
