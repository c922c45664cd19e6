"""`kill -9` of workers at random moments of a regrade.

Every cycle mends the rubric, starts a regrade with two workers, kills them again and again and
starts others. In the end every attempt must be judged exactly once, and no grade may have changed
until the regrade is applied; then an undo must give back what was there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from sqlalchemy import text

from bench.load.stored import mend, store_answers
from bench.load.students import ASSIGNMENT, QUESTION, RUN
from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store
from grader.cli.database import read_clock
from grader.cli.server import open_grading_context
from grader.domain.jobs import JobState
from grader.grading.context import GradingContext
from grader.grading.grades.export import to_csv_lines
from grader.grading.grades.gradebook import load_gradebook
from grader.grading.regrades.decide import apply_regrade, start_regrade, undo_regrade
from grader.store.database import Database
from grader.store.queries.jobs import find_job_about
from grader.store.queries.regrades.records import RegradeLine

_WORKERS = 2
#: A worker needs about a second to begin, and a regrade goes on for a few.
_LONGEST_LIFE_SECONDS = 3.0
_MAX_SECONDS = 300.0
_TWICE = """
    SELECT count(*) FROM (
        SELECT 1 FROM judgements WHERE regrade_id = :id GROUP BY attempt_id HAVING count(*) > 1
    ) AS twice
"""


@dataclass(frozen=True, slots=True)
class RegradeKillPlan:
    """How many regrades of how many attempts, with how many kills in each."""

    database: str
    cycles: int
    attempts: int
    kills: int
    seed: int
    evidence: Path


def run_regrade_kills(plan: RegradeKillPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Prepare regrades with workers that are killed, and look at what is there then."""
    result = CampaignResult("regrade kills", plan.database)
    started, random = time.monotonic(), Random(plan.seed)
    with open_store(plan.database, result, evidence=plan.evidence, students=plan.attempts) as store:
        opened = store.course.database
        context = open_grading_context(opened)
        store_answers(store.course, store.students, context)
        for number in range(plan.cycles):
            _run_cycle(plan, store, opened, context, random, result, number)
            result.cycles += 1
            advance(1)
        opened.close()
    result.trials = result.counts["attempts judged again"]
    result.seconds = time.monotonic() - started
    return result


def _run_cycle(
    plan: RegradeKillPlan,
    store: TortureStore,
    opened: Database,
    context: GradingContext,
    random: Random,
    result: CampaignResult,
    number: int,
) -> None:
    # Never one of before, or its judgements would be those that are there.
    mend(opened, context, tolerance=f"{0.06 + 0.0001 * number:.4f}")
    before = export(opened, context)
    with opened.write() as session:
        regrade = start_regrade(
            session, context, run_id=RUN, assignment=ASSIGNMENT, questions=[QUESTION],
            judges_all=True, by="bench", at=read_clock(),
        )  # fmt: skip
    state = _work_and_kill(plan, store, opened, regrade, random, result)
    if state is not JobState.DONE:
        result.findings.append(f"regrade {number + 1} is {state.value}")
        return
    judged = _count(opened, "SELECT count(*) FROM judgements WHERE regrade_id = :id", regrade)
    twice = _count(opened, _TWICE, regrade)
    result.counts["attempts judged again"] += judged
    if judged != plan.attempts or twice:
        result.findings.append(f"{judged} of {plan.attempts} attempts were judged, {twice} twice")
    if export(opened, context) != before:
        result.findings.append("a grade has changed before the regrade was applied")
    about = {"run_id": RUN, "regrade_id": regrade.id, "reason": "Tried.", "by": "bench"}
    with opened.write() as session:
        apply_regrade(session, context, at=read_clock(), **about)
    if number % 2:
        return
    with opened.write() as session:
        undo_regrade(session, context, at=read_clock(), **about)
    if export(opened, context) != before:
        result.findings.append("an undo has not given back the grades of before")


def _work_and_kill(
    plan: RegradeKillPlan,
    store: TortureStore,
    opened: Database,
    regrade: RegradeLine,
    random: Random,
    result: CampaignResult,
) -> JobState:
    """Let workers prepare a regrade, and kill one of them again and again."""
    until = time.monotonic() + _MAX_SECONDS
    left = plan.kills
    with _running(store) as workers:
        kill_at = time.monotonic() + random.uniform(0, _LONGEST_LIFE_SECONDS)
        while (state := _find_state(opened, regrade)) is JobState.OPEN:
            if time.monotonic() > until:
                break
            if left and time.monotonic() >= kill_at:
                place = random.randrange(len(workers))
                workers[place].kill()
                workers[place].wait()
                workers[place] = _start(store)
                result.counts["workers killed"] += 1
                left -= 1
                kill_at = time.monotonic() + random.uniform(0, _LONGEST_LIFE_SECONDS)
            time.sleep(0.02)
    return state


@contextmanager
def _running(store: TortureStore) -> Iterator[list[subprocess.Popen[bytes]]]:
    workers = [_start(store) for _ in range(_WORKERS)]
    try:
        yield workers
    finally:
        for each in workers:
            each.kill()
            each.wait()


def _start(store: TortureStore) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "grader", "worker", "--quiet"]
    return subprocess.Popen(command, env={**os.environ, "GRADER_DATABASE_URL": store.database.url})


def _find_state(opened: Database, regrade: RegradeLine) -> JobState:
    with opened.read() as session:
        job = find_job_about(session, subject=regrade.id)
    assert job is not None, "a regrade has a job"
    return job.state


def _count(opened: Database, statement: str, regrade: RegradeLine) -> int:
    with opened.read() as session:
        return int(session.execute(text(statement), {"id": regrade.id}).scalar_one())


def export(opened: Database, context: GradingContext) -> str:
    """The grades of the course as CSV."""
    with opened.read() as session:
        gradebook = load_gradebook(session, context, run_id=RUN, assignment=ASSIGNMENT)
    return "".join(to_csv_lines(gradebook))
