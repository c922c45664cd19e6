"""Workers on one database: pieces are shared, taken over, and done once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.domain.jobs import JobKind, JobState
from grader.grading.regrades import pieces
from grader.jobs import worker as workers
from grader.jobs.phases import JobPlan, Task
from grader.jobs.regrades import REGRADE
from grader.store.database import Database, Session
from grader.store.queries.jobs import claim_piece, find_job_about, get_job, list_jobs
from tests.support import regrades
from tests.support.histories import QUESTION, long_assignment
from tests.support.world import World, make_service

ATTEMPTS = 7


@pytest.fixture
def world(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Seven attempts that a mended rubric judges otherwise, two in a piece."""
    monkeypatch.setattr(pieces, "ATTEMPTS_PER_PIECE", 2)
    with make_service(database, published={"one": (), "two": ()}) as world:
        world.publish(long_assignment(within=0.2, most=20))
        for number in range(ATTEMPTS):
            world.submit("ada", QUESTION, {"q": f"(3 + {number}/100) k_a"})
        world.publish(long_assignment(within=0.02, most=20))
        yield world


def watch(world: World, monkeypatch: pytest.MonkeyPatch, work: Any) -> None:
    """Let something happen while a piece is being judged, before it is stored."""
    judging, comparing = REGRADE.phases

    def judge(session: Session, task: Task, content: Any) -> Any:
        found = judging.work(session, task, content)
        work(content)
        return found

    plan = JobPlan((replace(judging, work=judge), comparing), REGRADE.finish)
    monkeypatch.setattr(workers, "PLANS", {JobKind.REGRADE: plan})


def state_of(world: World, regrade: Any) -> JobState:
    with world.database.read() as session:
        job = find_job_about(session, subject=regrade.id)
    assert job is not None
    return job.state


def test_progress_is_told_by_attempts_then_by_grades(world: World) -> None:
    regrades.start(world)
    told = []

    def look() -> None:
        with world.database.read() as session:
            (job,) = list_jobs(session)
        told.append((job.phase, job.done, job.total))

    regrades.make_worker(world).work_off(on_piece=look)

    assert told[:5] == [
        ("judging", 0, 7), ("judging", 2, 7), ("judging", 4, 7), ("judging", 6, 7),
        ("comparing", 0, 0),
    ]  # fmt: skip
    assert told[-1] == ("comparing", 1, 1)


def test_two_workers_share_the_pieces(world: World) -> None:
    regrade = regrades.start(world)
    one, two = regrades.make_worker(world), regrades.make_worker(world)

    turns = 0
    while one.do_piece() | two.do_piece():
        turns += 1

    assert turns >= 3
    assert regrades.look(world, regrade).counts.attempts == ATTEMPTS


def test_what_a_dead_worker_was_doing_is_taken_over(world: World) -> None:
    regrade = regrades.start(world)
    worker = regrades.make_worker(world)
    assert worker.do_piece()
    with world.database.write() as session:
        at = world.clock()
        assert claim_piece(session, owner="wrk_dead", at=at, until=at + workers.LEASE)

    worker.work_off()
    assert state_of(world, regrade) is JobState.OPEN, "it may still live"
    world.clock.turn(seconds=workers.LEASE.total_seconds())
    worker.work_off()

    assert regrades.look(world, regrade).counts.attempts == ATTEMPTS
    assert regrades.find_discrepancies(world) == {}


def test_who_was_thought_dead_stores_nothing_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrade = regrades.start(world)
    slow, quick = regrades.make_worker(world), regrades.make_worker(world)
    assert slow.do_piece()
    overtaken: list[Any] = []

    def overtake(content: Any) -> None:
        if not overtaken:
            overtaken.append(content)
            world.clock.turn(seconds=workers.LEASE.total_seconds())
            quick.work_off()

    watch(world, monkeypatch, overtake)
    slow.do_piece()

    assert overtaken
    assert regrades.look(world, regrade).counts.attempts == ATTEMPTS
    assert regrades.find_discrepancies(world) == {}


def test_a_piece_that_fails_once_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrade = regrades.start(world)
    failures: list[Any] = []

    def fail_once(content: Any) -> None:
        if not failures:
            failures.append(content)
            raise RuntimeError("out of memory")

    watch(world, monkeypatch, fail_once)
    regrades.make_worker(world).work_off()

    assert failures
    assert regrades.look(world, regrade).counts.attempts == ATTEMPTS


def test_an_attempt_that_always_fails_is_left_out_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrade = regrades.start(world)
    poison: list[str] = []

    def fail(content: Any) -> None:
        if not poison:
            poison.append(content[0])
        if poison[0] in content:
            raise RuntimeError("out of memory")

    watch(world, monkeypatch, fail)
    regrades.make_worker(world).work_off()

    preview = regrades.look(world, regrade)
    assert [each.attempt_id for each in preview.left_out] == poison
    assert preview.counts.attempts == ATTEMPTS - 1
    regrades.apply(world, regrade)
    assert regrades.find_discrepancies(world) == {}


def test_a_job_that_cannot_be_planned_fails_with_its_reason(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrade = regrades.start(world)
    judging, comparing = REGRADE.phases

    def fail(session: Session, task: Task) -> Any:
        raise RuntimeError("the rubric is gone")

    plan = JobPlan((replace(judging, plan=fail), comparing), REGRADE.finish)
    monkeypatch.setattr(workers, "PLANS", {JobKind.REGRADE: plan})
    regrades.make_worker(world).work_off()

    with world.database.read() as session:
        job = find_job_about(session, subject=regrade.id)
        assert job is not None
        job = get_job(session, job_id=job.id)
    assert job.state is JobState.FAILED
    assert job.error == "RuntimeError: the rubric is gone"


def test_a_regrade_that_is_discarded_is_worked_on_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrade = regrades.start(world)
    worker = regrades.make_worker(world)
    assert worker.do_piece()
    watch(world, monkeypatch, lambda _: regrades.discard(world, regrade))

    assert worker.work_off() == 1

    assert state_of(world, regrade) is JobState.CANCELLED
    assert regrades.look(world, regrade).counts.attempts == 0
    assert not worker.do_piece()
