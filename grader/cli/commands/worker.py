"""`grader worker`: works on durable jobs, such as regrades."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from grader.cli.console import print_line
from grader.cli.database import open_to_write, read_clock
from grader.errors import Unavailable
from grader.store.database import Database
from grader.store.queries.jobs import has_open_jobs

EXAMPLES = """\
[bold]Examples[/]
  grader worker
  grader worker --until-idle

Any number may run at once, also on several machines with one PostgreSQL. If one dies, the
others take over what it was doing within seconds, and nothing is done twice. Ctrl+C or
SIGTERM lets it finish the piece that it is working on, which takes a second or so.
"""

_LOOKING_SECONDS = 0.5
_AWAY_SECONDS = 2.0


class _Stopped(Exception):
    """Somebody has asked the worker to stop."""


@contextmanager
def _noticing_stop() -> Iterator[Callable[[], None]]:
    """Give a function that raises `_Stopped` after SIGINT or SIGTERM, and nothing before."""
    is_stopping = False

    def stop(*_: object) -> None:
        nonlocal is_stopping
        is_stopping = True

    def go_on() -> None:
        if is_stopping:
            raise _Stopped

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield go_on
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def worker(
    until_idle: Annotated[
        bool,
        typer.Option("--until-idle", metavar="", help="Stop when there is nothing left to do."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Print only what goes wrong.")
    ] = False,
) -> None:
    """Work on durable jobs until it is stopped."""
    # Both take as long to import as all else, and other commands do not need them.
    from grader.cli.server import open_grading_context
    from grader.jobs.worker import JobWorker

    with open_to_write() as database, _noticing_stop() as go_on:
        jobs = JobWorker(database, open_grading_context(database), read_clock)
        if not quiet:
            print_line(f"Waiting for jobs as {jobs.id}.")
        try:
            while True:
                go_on()
                try:
                    count = jobs.work_off(on_piece=go_on)
                    # Another worker may die, and leave what it was doing.
                    if until_idle and not _has_jobs(database):
                        return
                except Unavailable as error:
                    print_line(error.message)
                    time.sleep(_AWAY_SECONDS)
                    continue
                time.sleep(0 if count else _LOOKING_SECONDS)
        except _Stopped:
            if not quiet:
                print_line("Stopped.")


def _has_jobs(database: Database) -> bool:
    with database.read() as session:
        return has_open_jobs(session)
