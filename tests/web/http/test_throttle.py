"""Who calls too often is held back, and strangers pass at a limited rate."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from grader.errors import TooManyRequests, Unavailable
from grader.web.http.rate_limits import RateLimit
from grader.web.http.throttle import Throttle
from tests.support.budgets import make_budgets


class Waits:
    """Time that passes only where somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.seconds: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(round(seconds, 6))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    found = Waits()
    monkeypatch.setattr(asyncio, "sleep", found.sleep)
    return found


def make_scope(path: str = "/sign-in", address: str = "10.0.0.1", **headers: str) -> dict[str, Any]:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"path": path, "client": (address, 5000), "headers": sent, "state": {}}


def admit(held: Throttle, scope: dict[str, Any]) -> None:
    asyncio.run(held.admit(scope))


def hold_back(held: Throttle, scope: dict[str, Any], status: int) -> None:
    asyncio.run(held.hold_back(scope, status, [(b"retry-after", b"2")]))


def test_a_refusal_for_calling_too_often_is_late_and_others_are_not(waits: Waits) -> None:
    held = Throttle(make_budgets(), refusal_seconds=3.0)
    for status in (200, 401, 404, 422, 429, 503):
        hold_back(held, make_scope(), status)

    assert len(waits.seconds) == 1
    assert 1.0 <= waits.seconds[0] <= 2.0, "not later than the next call is possible"


def test_those_who_are_refused_together_do_not_come_again_together(waits: Waits) -> None:
    held = Throttle(make_budgets(), refusal_seconds=2.0)
    for _ in range(100):
        hold_back(held, make_scope(), 429)

    halves = [sum(seconds < 1.5 for seconds in waits.seconds), 100]
    assert 20 <= halves[0] <= 80
    assert min(waits.seconds) < 1.2
    assert max(waits.seconds) > 1.8


def test_strangers_wait_in_one_line_after_a_burst_and_are_refused_when_it_is_long(
    waits: Waits,
) -> None:
    held = Throttle(make_budgets(), anonymous_per_second=10, monotonic=waits.monotonic)
    for number in range(31):
        admit(held, make_scope(address=f"10.0.0.{number}"))
    with pytest.raises(Unavailable):
        admit(held, make_scope(address="10.0.1.1"))

    # Eleven pass at once, then each waits a tenth of a second longer than the one before.
    assert waits.seconds == [round(0.1 * number, 6) for number in range(1, 21)]


def test_who_finds_the_line_too_long_is_told_so_late(waits: Waits) -> None:
    held = Throttle(
        make_budgets(), refusal_seconds=3.0, anonymous_per_second=0.1, monotonic=waits.monotonic
    )
    admit(held, make_scope())
    with pytest.raises(Unavailable):
        admit(held, make_scope())

    assert len(waits.seconds) == 1
    assert 1.0 <= waits.seconds[0] <= 2.0


def test_the_line_of_strangers_gets_shorter_with_time(waits: Waits) -> None:
    held = Throttle(make_budgets(), anonymous_per_second=10, monotonic=waits.monotonic)
    for _ in range(31):
        admit(held, make_scope())
    waits.now += 1
    admit(held, make_scope())

    assert waits.seconds[-1] == pytest.approx(1.1)


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(make_scope("/healthz"), id="alive"),
        pytest.param(make_scope("/readyz"), id="ready"),
        pytest.param(make_scope(authorization="Bearer keyset_x"), id="a token"),
        pytest.param(make_scope(cookie="a=b; keyset_session=x"), id="a session"),
        pytest.param(make_scope(cookie="__Host-keyset_session=x"), id="a session over https"),
    ],
)
def test_who_brings_a_credential_and_who_watches_does_not_stand_in_line(
    waits: Waits, scope: dict[str, Any]
) -> None:
    rules = {"anonymous": RateLimit(per_minute=1, burst=1)}
    held = Throttle(make_budgets(rules), anonymous_per_second=0.001)
    for _ in range(5):
        admit(held, scope)

    assert waits.seconds == []


def test_files_of_pages_cost_a_tenth_of_a_page() -> None:
    rules = {"anonymous": RateLimit(per_minute=1, burst=2)}
    held = Throttle(make_budgets(rules))
    admit(held, make_scope())
    for _ in range(10):
        admit(held, make_scope("/static/keyset.css"))
    with pytest.raises(TooManyRequests):
        admit(held, make_scope("/static/keyset.css"))


def test_a_credential_that_nothing_asks_for_counts_as_none(waits: Waits) -> None:
    rules = {"anonymous": RateLimit(per_minute=1, burst=2)}
    held = Throttle(make_budgets(rules), refusal_seconds=1.0)
    scope = make_scope(cookie="keyset_session=made up")
    for _ in range(3):
        hold_back(held, scope, 200)
    known = make_scope(cookie="keyset_session=real")
    known["state"]["caller"] = "per_1"
    hold_back(held, known, 200)

    assert len(waits.seconds) == 1, "only the third is late"
