"""Long work: one piece at a time, and it ends when the process does."""

from __future__ import annotations

import threading

from grader.web.ops.background import BackgroundRunner, ShouldStop


def test_one_piece_of_work_at_a_time() -> None:
    background, may_go_on = BackgroundRunner(), threading.Event()
    assert background.reserve()

    def work(should_end: ShouldStop) -> None:
        may_go_on.wait(10)

    background.start(work)

    is_free = background.reserve()
    may_go_on.set()

    assert not is_free
    assert background.wait(10)
    assert background.reserve()


def test_work_is_asked_to_end_and_nothing_new_begins() -> None:
    background, seen = BackgroundRunner(), threading.Event()

    def work(should_end: ShouldStop) -> None:
        while not should_end():
            seen.wait(0.01)
        seen.set()

    assert background.reserve()
    background.start(work)
    background.stop()

    assert seen.is_set()
    assert not background.reserve()


def test_a_turn_that_was_not_used_is_given_back() -> None:
    background = BackgroundRunner()
    assert background.reserve()
    background.start(lambda should_end: None)
    assert background.wait(10)
    assert background.reserve()
    background.release()
    assert background.reserve()
