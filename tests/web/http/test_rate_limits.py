"""Budgets: nobody is stopped below the rule, everybody above it, and memory stays bounded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import TooManyRequests
from grader.web.http.rate_limits import RateLimit, RateLimiter

RULES = {"submit": RateLimit(per_minute=30, burst=5), "read": RateLimit(per_minute=600, burst=100)}


@dataclass
class Watch:
    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


def spend_all(budgets: RateLimiter, caller: str, budget: str = "submit") -> int:
    spent = 0
    while True:
        try:
            budgets.spend(budget, caller)
        except TooManyRequests:
            return spent
        spent += 1


def test_a_rested_caller_may_spend_the_burst_at_once() -> None:
    assert spend_all(RateLimiter(RULES, Watch()), "ada") == 5


def test_after_the_stated_seconds_one_more_call_is_possible() -> None:
    watch = Watch()
    budgets = RateLimiter(RULES, watch)
    spend_all(budgets, "ada")
    with pytest.raises(TooManyRequests) as refused:
        budgets.spend("submit", "ada")

    assert refused.value.retry_after_seconds == 2
    watch.seconds += refused.value.retry_after_seconds
    assert budgets.spend("submit", "ada").calls == 0


def test_a_long_rest_gives_no_more_than_the_burst() -> None:
    watch = Watch()
    budgets = RateLimiter(RULES, watch)
    spend_all(budgets, "ada")
    watch.seconds += 86_400

    assert spend_all(budgets, "ada") == 5


def test_callers_and_budgets_are_apart() -> None:
    budgets = RateLimiter(RULES, Watch())
    spend_all(budgets, "ada")

    assert budgets.spend("submit", "bob").calls == 4
    assert budgets.spend("read", "ada").calls == 99


def test_what_is_left_is_told_in_headers() -> None:
    left = RateLimiter(RULES, Watch()).spend("submit", "ada")

    assert left.headers() == {
        "RateLimit-Policy": '"submit";q=5;w=10',
        "RateLimit": '"submit";r=4;t=2',
    }


def test_only_so_many_callers_are_remembered() -> None:
    budgets = RateLimiter(RULES, Watch(), most_callers=100)
    for number in range(1000):
        budgets.spend("read", f"caller {number}")

    assert len(budgets) == 100


def test_the_caller_who_rested_longest_is_forgotten_first() -> None:
    budgets = RateLimiter(RULES, Watch(), most_callers=2)
    spend_all(budgets, "ada")
    budgets.spend("submit", "bob")
    with pytest.raises(TooManyRequests):
        budgets.spend("submit", "ada")
    budgets.spend("submit", "cyd")

    with pytest.raises(TooManyRequests):
        budgets.spend("submit", "ada")


def test_threads_together_get_no_more_than_one() -> None:
    budgets = RateLimiter({"read": RateLimit(per_minute=1, burst=200)}, Watch())
    with ThreadPoolExecutor(8) as pool:
        spent = sum(pool.map(lambda _: spend_all(budgets, "ada", "read"), range(8)))

    assert spent == 200


def test_a_clock_that_goes_back_gives_nothing() -> None:
    watch = Watch()
    budgets = RateLimiter(RULES, watch)
    spend_all(budgets, "ada")
    watch.seconds -= 100
    with pytest.raises(TooManyRequests):
        budgets.spend("submit", "ada")
    watch.seconds += 100

    with pytest.raises(TooManyRequests):
        budgets.spend("submit", "ada")


@given(st.lists(st.floats(0, 5), max_size=80))
def test_no_stretch_of_time_lets_more_through_than_the_rule(pauses: list[float]) -> None:
    watch = Watch()
    budgets = RateLimiter(RULES, watch)
    through = 0
    for pause in pauses:
        watch.seconds += pause
        try:
            budgets.spend("submit", "ada")
        except TooManyRequests:
            continue
        through += 1

    assert through <= 5 + sum(pauses) * 0.5 + 1e-6
