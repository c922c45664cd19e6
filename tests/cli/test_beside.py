"""Jobs beside a service, and workers that are killed, all of them real processes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from bench.load.processes import run_service
from bench.load.stored import mend, store_answers
from bench.load.students import ASSIGNMENT, QUESTION, RUN, open_course
from bench.torture.regrade_kills import RegradeKillPlan, run_regrade_kills
from grader.cli.database import read_clock
from grader.cli.server import open_grading_context
from grader.domain.regrades import RegradeState
from grader.grading.regrades.decide import start_regrade
from grader.store.database import open_database
from grader.store.migrations import migrate_up
from grader.store.queries.regrades.records import get_regrade
from tests.support.databases import BACKENDS
from tests.support.waiting import wait_for


def test_a_service_prepares_regrades_by_itself(sqlite_url: str, tmp_path: Path) -> None:
    migrate_up(sqlite_url)
    with closing(open_database(sqlite_url)) as database:
        course, context = open_course(database), open_grading_context(database)
        store_answers(course, course.enrol(20), context)
        mend(database, context, tolerance="0.08")
        with run_service(sqlite_url, workers=1, folder=tmp_path):
            with database.write() as session:
                regrade = start_regrade(
                    session, context, run_id=RUN, assignment=ASSIGNMENT, questions=[QUESTION],
                    by="test", at=read_clock(),
                )  # fmt: skip

            def is_ready() -> bool:
                with database.read() as session:
                    state = get_regrade(session, regrade_id=regrade.id).state
                return state is RegradeState.READY

            wait_for(is_ready)


@pytest.mark.parametrize("kind", BACKENDS)
def test_workers_that_are_killed_judge_every_attempt_once(kind: str, tmp_path: Path) -> None:
    plan = RegradeKillPlan(kind, cycles=1, attempts=1500, kills=2, seed=1, evidence=tmp_path)

    result = run_regrade_kills(plan, advance=lambda _: None)

    assert result.findings == []
    assert result.counts["workers killed"] >= 1
    assert result.counts["attempts judged again"] == 1500
