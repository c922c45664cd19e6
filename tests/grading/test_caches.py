from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import count

from grader.grading import caches
from grader.grading.caches import StatisticsCache

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def test_a_value_is_kept_while_nothing_happens_and_not_for_ever() -> None:
    keeper, numbers = StatisticsCache(), count()

    def get(minutes: float, state: int) -> tuple[int, datetime]:
        kept = keeper.get(
            "x", lambda: next(numbers), at=NOW + timedelta(minutes=minutes), state=state
        )
        return kept.value, kept.at

    assert get(0, state=1) == (0, NOW)
    assert get(5, state=1) == (0, NOW)
    assert get(5, state=2) == (1, NOW + timedelta(minutes=5))
    assert get(20, state=2) == (2, NOW + timedelta(minutes=20))


def test_who_has_patience_gets_an_older_value() -> None:
    keeper, numbers = StatisticsCache(), count()
    hour = timedelta(hours=1)
    for minutes, wanted in ((0, 0), (59, 0), (61, 1)):
        kept = keeper.get(
            "x",
            lambda: next(numbers),
            at=NOW + timedelta(minutes=minutes),
            state=minutes,
            patience=hour,
        )
        assert kept.value == wanted


def test_what_took_long_is_kept_for_a_minute() -> None:
    slow = caches.CachedValue("value", NOW, state=1, seconds=5.0)
    quick = caches.CachedValue("value", NOW, state=1, seconds=0.1)
    soon, later = NOW + timedelta(seconds=59), NOW + timedelta(seconds=61)

    assert slow.is_fresh(at=soon, state=2, patience=None)
    assert not slow.is_fresh(at=later, state=2, patience=None)
    assert not quick.is_fresh(at=soon, state=2, patience=None)


def test_while_somebody_makes_it_the_one_before_is_given() -> None:
    keeper = StatisticsCache()
    keeper.get("x", lambda: "before", at=NOW, state=1)
    is_making, may_go_on = threading.Event(), threading.Event()

    def make_slowly() -> str:
        is_making.set()
        assert may_go_on.wait(10)
        return "after"

    thread = threading.Thread(target=lambda: keeper.get("x", make_slowly, at=NOW, state=2))
    thread.start()
    assert is_making.wait(10)
    assert keeper.get("x", lambda: "never", at=NOW, state=2).value == "before"
    may_go_on.set()
    thread.join(10)
    assert keeper.get("x", lambda: "never", at=NOW, state=2).value == "after"


def test_the_oldest_goes_where_there_is_no_room() -> None:
    keeper = StatisticsCache(max_values=1)
    for name in ("x", "y"):
        keeper.get(name, lambda: 1, at=NOW, state=1)

    assert keeper.get("x", lambda: 2, at=NOW, state=1).value == 2
