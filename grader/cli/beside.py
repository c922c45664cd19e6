"""Processes that work on jobs beside the service, as long as there is work."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from grader.errors import Unavailable
from grader.settings import Settings
from grader.store.database import Database
from grader.store.queries.jobs import has_open_jobs

_LOOKING_SECONDS = 1.0
_ENDING_SECONDS = 10.0


@contextmanager
def working_on_jobs(database: Database, settings: Settings) -> Iterator[None]:
    """Start `grader worker` whenever there are jobs, and end it with the service.

    They are processes of their own, so that requests need not share Python's lock with them.
    """
    if not settings.job_workers:
        yield
        return
    ending = threading.Event()
    thread = threading.Thread(
        target=_look_for_jobs, args=(database, settings, ending), name="jobs", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _look_for_jobs(database: Database, settings: Settings, ending: threading.Event) -> None:
    started: list[subprocess.Popen[bytes]] = []
    while not ending.wait(_LOOKING_SECONDS):
        started = [each for each in started if each.poll() is None]
        # While the database is away there is nothing to be done.
        with suppress(Unavailable):
            if len(started) < settings.job_workers and _has_jobs(database):
                started.append(_start(settings))
    for each in started:
        each.terminate()
    for each in started:
        try:
            each.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            # What it was doing is taken over by another one.
            each.kill()


def _has_jobs(database: Database) -> bool:
    with database.read() as session:
        return has_open_jobs(session)


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "GRADER_DATABASE_URL": settings.address_of_database}
    command = [sys.executable, "-m", "grader", "worker", "--until-idle", "--quiet"]
    return subprocess.Popen(command, env=variables)
