"""`python -m bench.regrade`: judging stored attempts again, beside the rate of posting them.

Every attempt is on the variant of its own student. Workers are processes of `grader worker`, as an
operator runs them; the rate of posting is that of one process of the service in the same run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from os import environ
from typing import Annotated

import typer
from rich.table import Table

from bench.load.databases import LoadDatabase, open_load_database
from bench.load.layers import record_layers
from bench.load.rounds import Requests, measure_closed_loop, run_server
from bench.load.stored import make_answer, mend, store_answers
from bench.load.students import ASSIGNMENT, QUESTION, RUN, Student, open_course
from bench.torture.regrade_kills import export
from grader.cli.console import console, make_progress
from grader.cli.database import read_clock
from grader.cli.server import open_grading_context
from grader.domain.jobs import JobState
from grader.grading.regrades.decide import apply_regrade, start_regrade, undo_regrade
from grader.store.database import Database
from grader.store.queries.jobs import find_job_about
from grader.store.queries.regrades.preview import RegradeCounts, count_changes
from grader.store.queries.regrades.records import RegradeLine

#: Students who post.
_POSTING = 3000
_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class RegradeFigures:
    """What was measured, in seconds but for `posted`, the attempts posted per second."""

    attempts: int
    posted: float
    preview: float
    apply: float
    undo: float
    is_undone: bool
    counts: RegradeCounts
    layers: dict[str, float]

    @property
    def rate(self) -> float:
        """Attempts per second of the preview."""
        return self.attempts / self.preview


def run_regrade(
    attempts: Annotated[int, typer.Option(min=1, help="Stored attempts.")] = 100_000,
    database: Annotated[str, typer.Option(help="sqlite or postgresql.")] = "sqlite",
    workers: Annotated[int, typer.Option(min=1, help="Processes of `grader worker`.")] = 2,
    profile: Annotated[bool, typer.Option(help="Also say where the time goes.")] = True,
) -> None:
    """Post some attempts, then judge many stored ones again, apply that, and undo it."""
    with open_load_database(database) as opened:
        posted = _measure_posting(opened)
    with open_load_database(database) as opened:
        figures = measure(opened, posted, attempts=attempts, workers=workers, profile=profile)
    _print(figures)


def measure(
    opened: LoadDatabase, posted: float, *, attempts: int, workers: int, profile: bool
) -> RegradeFigures:
    """Fill a course, and measure a regrade of it."""
    store = opened.open()
    course = open_course(store)
    with console.status("Adding students …"):
        students = course.enrol(attempts)
    context = open_grading_context(store)
    with make_progress() as progress:
        bar = progress.add_task("storing", total=attempts)
        store_answers(course, students, context, advance=partial(progress.advance, bar))
    opened.update_statistics()
    mend(store, context, tolerance="0.08")
    with store.write() as session:
        regrade = start_regrade(
            session, context, run_id=RUN, assignment=ASSIGNMENT, questions=[QUESTION], by="bench",
            at=read_clock(),
        )  # fmt: skip
    started = time.monotonic()
    layers = _prepare(opened, store, regrade, workers=workers, profile=profile)
    preview = time.monotonic() - started
    with store.read() as session:
        counts = count_changes(session, regrade_id=regrade.id)
    before = export(store, context)
    about = {"run_id": RUN, "regrade_id": regrade.id, "reason": "Measured.", "by": "bench"}
    started = time.monotonic()
    with store.write() as session:
        apply_regrade(session, context, at=read_clock(), **about)
    applied = time.monotonic() - started
    is_changed = export(store, context) != before
    started = time.monotonic()
    with store.write() as session:
        undo_regrade(session, context, at=read_clock(), **about)
    undone = time.monotonic() - started
    is_undone = export(store, context) == before and is_changed
    store.close()
    return RegradeFigures(
        counts.attempts, posted, preview, applied, undone, is_undone, counts, layers
    )


class _SameAnswers(Requests):
    """The answers that are stored and judged again, which take longer than right ones."""

    def make(self, student: Student, number: int) -> bytes:
        """An answer of a student, other than all before."""
        return student.make_request_of(make_answer(student, number))


def _measure_posting(opened: LoadDatabase) -> float:
    """Attempts per second, posted by HTTP to a service of one process."""
    store = opened.open()
    students = open_course(store).enrol(_POSTING)
    store.close()
    requests = _SameAnswers(students, repeats=8)
    with run_server(opened, "service", workers=1, requests=requests) as server:
        cost = measure_closed_loop(
            server, opened, requests, connections=_CONNECTIONS, seconds=8, most=len(students) * 7
        )
    return cost.load.per_second


def _prepare(
    opened: LoadDatabase, store: Database, regrade: RegradeLine, *, workers: int, profile: bool
) -> dict[str, float]:
    """Let workers prepare a regrade, and look over the shoulder of one of them."""
    command = [sys.executable, "-m", "grader", "worker", "--until-idle"]
    variables = {**environ, "GRADER_DATABASE_URL": opened.url}
    started = [
        subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) for _ in range(workers)
    ]
    layers: dict[str, float] = {}
    if profile:
        time.sleep(3)
        # A small regrade is prepared by then.
        if started[0].poll() is None:
            layers = record_layers(started[0].pid, seconds=5)
    with make_progress() as progress:
        bar = progress.add_task("preparing", total=None)
        while True:
            with store.read() as session:
                job = find_job_about(session, subject=regrade.id)
            assert job is not None, "a regrade has a job"
            progress.update(bar, description=job.phase, total=job.total, completed=job.done)
            if job.state is not JobState.OPEN:
                break
            time.sleep(0.1)
    assert job.state is JobState.DONE, job.error
    for each in started:
        each.wait(timeout=60)
    return layers


def _print(figures: RegradeFigures) -> None:
    table = Table(title=f"Regrade of {figures.attempts:,} attempts")
    table.add_column("what")
    table.add_column("figure", justify="right")
    counts = figures.counts
    for name, value in (
        ("posted per second", f"{figures.posted:,.0f}"),
        ("preview, seconds", f"{figures.preview:.1f}"),
        ("judged again per second", f"{figures.rate:,.0f}"),
        ("times the rate of posting", f"{figures.rate / figures.posted:.2f}"),
        ("apply, seconds", f"{figures.apply:.2f}"),
        ("undo, seconds", f"{figures.undo:.2f}"),
        ("grades up, down, same", f"{counts.up:,}, {counts.down:,}, {counts.same:,}"),
        ("byte-equal after undo", "yes" if figures.is_undone else "NO"),
    ):
        table.add_row(name, value)
    shares: dict[str, float] = defaultdict(float)
    for layer, share in figures.layers.items():
        kind = {"judging": "judging", "storing and looking up": "SQL"}.get(layer, "the rest")
        shares[kind] += share
    for kind, share in shares.items():
        table.add_row(f"share of {kind}", f"{share:.0%}")
    console.print(table)
    if not figures.is_undone:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(run_regrade)
