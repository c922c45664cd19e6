"""Regrades in a test's service: prepared as a worker does, and decided about as staff do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from grader.domain.jobs import JobState
from grader.domain.regrades import RegradeState
from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.regrades import decide
from grader.grading.regrades.compare import compare_grades
from grader.grading.regrades.judge import judge_again
from grader.grading.regrades.outdated import count_outdated
from grader.grading.regrades.pieces import (
    list_comparing_pieces,
    list_judging_pieces,
    store_judged,
)
from grader.grading.regrades.preview import RegradePreview, load_preview
from grader.grading.signing import SigningKey
from grader.jobs.worker import JobWorker
from grader.store.database import Session
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.jobs import find_job_about
from grader.store.queries.regrades.changes import add_regraded_grades
from grader.store.queries.regrades.records import RegradeLine, get_regrade, list_regrades
from tests.support.histories import LONG
from tests.support.world import EXPLORATION, World

BY = "test"


def regrade_now(
    session: Session, context: GradingContext, *, run_id: str, assignment: str, at: datetime
) -> RegradeLine:
    """Judge again what counts by an earlier version, and apply it, all in one transaction."""
    about: dict[str, Any] = {"run_id": run_id, "by": BY, "at": at}
    line = decide.start_regrade(session, context, assignment=assignment, **about)
    for ids in list_judging_pieces(session, context, line):
        store_judged(session, line, judge_again(session, context, line, attempt_ids=ids, at=at))
    for parts in list_comparing_pieces(session, line):
        grades = compare_grades(session, context, line, parts=parts, at=at)
        add_regraded_grades(session, line, grades)
    decide.finish_judging(session, line, at=at)
    return decide.apply_regrade(
        session, context, regrade_id=line.id, reason="The key was wrong.", **about
    )


def start(world: World, assignment: str = LONG, *, course: str = "one", **more: Any) -> RegradeLine:
    """Begin a regrade, which nobody has worked on yet."""
    with world.database.write() as session:
        return decide.start_regrade(
            session, world.service.context, run_id=course, assignment=assignment, by=BY,
            at=world.clock(), **more,
        )  # fmt: skip


def make_worker(world: World, **more: Any) -> JobWorker:
    """A worker beside the service, which keeps nothing in memory of what that knows."""
    context = GradingContext(world.service.context.signing_key)
    return JobWorker(world.database, context, world.clock, **more)


def prepare(world: World, assignment: str = LONG, **more: Any) -> RegradePreview:
    """Begin a regrade, and work on it until it waits for a decision."""
    regrade = start(world, assignment, **more)
    make_worker(world).work_off()
    return look(world, regrade)


def look(world: World, regrade: RegradeLine) -> RegradePreview:
    """What a regrade changes by now."""
    with world.database.read() as session:
        line = get_regrade(session, regrade_id=regrade.id)
        job = find_job_about(session, subject=regrade.id)
        assert job is not None
        assert job.state in (JobState.DONE, JobState.CANCELLED), job
        return load_preview(session, world.service.context, line)


def find_elsewhere(world: World) -> str:
    """The id of a regrade in the other course run."""
    with world.database.read() as session:
        lines = list_regrades(session, run_id="two")
    return (lines[0] if lines else start(world, EXPLORATION, course="two", judges_all=True)).id


def find_waiting(world: World, assignment: str) -> int:
    """The number of a regrade that waits for a decision, which is made where there is none."""
    with world.database.read() as session:
        lines = list_regrades(session, run_id="one", assignment=assignment)
    for each in lines:
        if each.state is RegradeState.READY:
            return each.number
        if each.state is RegradeState.JUDGING:
            make_worker(world).work_off()
            return each.number
    return prepare(world, assignment, judges_all=True).regrade.number


def apply(world: World, regrade: RegradeLine, *, reason: str = "The key was wrong.") -> RegradeLine:
    with world.database.write() as session:
        return decide.apply_regrade(
            session, world.service.context, run_id="one", regrade_id=regrade.id, reason=reason,
            by=BY, at=world.clock(),
        )  # fmt: skip


def undo(world: World, regrade: RegradeLine) -> RegradeLine:
    with world.database.write() as session:
        return decide.undo_regrade(
            session, world.service.context, run_id="one", regrade_id=regrade.id,
            reason="Too early.", by=BY, at=world.clock(),
        )  # fmt: skip


def discard(world: World, regrade: RegradeLine) -> RegradeLine:
    with world.database.write() as session:
        return decide.discard_regrade(
            session, run_id="one", regrade_id=regrade.id, by=BY, at=world.clock()
        )


def decline(world: World, assignment: str = LONG, **more: Any) -> RegradeLine:
    with world.database.write() as session:
        return decide.decline_regrade(
            session, world.service.context, run_id="one", assignment=assignment,
            reason="Only the tolerance.", by=BY, at=world.clock(), **more,
        )  # fmt: skip


def outdated(world: World, assignment: str = LONG) -> dict[str, int]:
    """By question, the attempts by an earlier version that nobody has decided about."""
    context = world.service.context
    with world.database.read() as session:
        published = context.in_force(session, run_id="one", assignment=assignment)
        return count_outdated(session, context, published)


def grade_of(world: World, who: str, question: str = "one", assignment: str = LONG) -> GradeLine:
    part = (world.enrolment(who), assignment, question)
    with world.database.read() as session:
        return find_grades(session, parts=[part])[part]


def find_discrepancies(world: World) -> dict[str, list[str]]:
    """What `grader verify` finds, by check."""
    with world.database.read() as session:
        checks = verify(session, GradingContext(SigningKey.generate())).checks
    return {
        each.name: [found.text for found in each.discrepancies] for each in checks if each.found
    }


def export(world: World, assignment: str = LONG) -> str:
    """The grades of an assignment as CSV."""
    path = f"/api/v1/courses/one/assignments/{assignment}/grades?format=csv"
    response = world.get(path, "irene")
    assert response.status_code == 200, response.text
    return response.text
