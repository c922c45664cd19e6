"""A worker: it takes pieces of jobs, does them, and notes what came of them.

What is done of a piece is committed together with the removal of the piece, and only by the worker
that the piece belongs to. So each piece counts once, whoever dies, and however often it was begun.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from grader.domain.jobs import JobKind, JobState
from grader.errors import Unavailable
from grader.grading.context import GradingContext
from grader.jobs.phases import JobPlan, Phase, Task
from grader.jobs.regrades import REGRADE
from grader.store.database import Database, Session
from grader.store.queries.jobs import (
    JobLine,
    JobPiece,
    add_pieces,
    change_job,
    claim_piece,
    end_job,
    extend_leases,
    find_last_number,
    get_job,
    has_pieces,
    lock_job,
    release_piece,
    take_out_piece,
)
from grader.store.rows import make_id

PLANS: Mapping[JobKind, JobPlan] = {JobKind.REGRADE: REGRADE}

#: A piece whose worker has shown no sign of life for this long is taken by another one.
LEASE = timedelta(seconds=10)
_SIGNS_OF_LIFE_SECONDS = 2.0
#: How often a piece is begun before it is divided, or its job fails.
MAX_TRIES = 3


@contextmanager
def _collecting_rarely() -> Iterator[Callable[[], object]]:
    """Look for garbage only when the function that is given is called.

    Python would look a hundred times in a piece, and a quarter of the time would go into it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        # What has come since the last call, and not what stays from piece to piece.
        yield partial(gc.collect, 1)
    finally:
        if was_enabled:
            gc.enable()


@dataclass(slots=True)
class JobWorker:
    """Does the pieces of jobs, one after the other, in the thread that calls it.

    Parameters
    ----------
    job_id
        The only job to work on; by default all.
    """

    database: Database
    context: GradingContext
    clock: Callable[[], datetime]
    job_id: str | None = None
    id: str = field(default_factory=lambda: make_id("wrk"))

    def work_off(self, *, on_piece: Callable[[], object] = lambda: None) -> int:
        """Do all pieces that can be had now, and return how many there were.

        `on_piece` is called after each; it may raise to end the work there.
        """
        count = 0
        with self._showing_life(), _collecting_rarely() as collect:
            while self.do_piece():
                count += 1
                collect()
                on_piece()
        return count

    def do_piece(self) -> bool:
        """Do the next piece; False where there is none that belongs to nobody."""
        at = self.clock()
        with self.database.write() as session:
            piece = claim_piece(session, owner=self.id, at=at, until=at + LEASE, job_id=self.job_id)
            if piece is None:
                return False
            job = get_job(session, job_id=piece.job_id)
        plan = PLANS[job.kind]
        phase = plan.get_phase(job.phase)
        task = Task(self.context, job, at)
        if piece.tries > MAX_TRIES:
            self._give_up(task, phase, piece, "It has ended every process that tried it.")
            return True
        try:
            with self.database.read() as session:
                found = (
                    phase.plan(session, task)
                    if piece.content is None
                    else phase.work(session, task, piece.content)
                )
            with self.database.write() as session:
                self._store(session, plan, phase, task, piece, found)
        except Unavailable:
            # It is not the fault of the piece.
            raise
        except Exception as error:
            self._note_failure(task, phase, piece, error)
        return True

    def _store(
        self,
        session: Session,
        plan: JobPlan,
        phase: Phase,
        task: Task,
        piece: JobPiece,
        found: Any,
    ) -> None:
        """Store what came of a piece, unless it belongs to another worker by now."""
        job_id = piece.job_id
        lock_job(session, job_id=job_id)
        if not take_out_piece(session, piece, owner=self.id):
            return
        # Others have finished pieces meanwhile.
        job = get_job(session, job_id=job_id)
        if piece.content is None:
            add_pieces(session, job_id=job_id, contents=found, first=piece.number + 1)
            total = sum(map(phase.count, found))
            change_job(
                session, job_id, phase=phase.name, phase_began_at=task.at, total=total, done=0
            )
        else:
            phase.store(session, task, found)
            change_job(session, job_id, done=job.done + phase.count(piece.content))
        if not has_pieces(session, job_id=job_id):
            self._go_on(session, plan, job, task)

    def _go_on(self, session: Session, plan: JobPlan, job: JobLine, task: Task) -> None:
        """Begin the next phase after the last piece of one, or end the job."""
        following = plan.find_next(job.phase)
        if following is not None:
            change_job(session, job.id, phase=following.name, total=0, done=0)
            add_pieces(session, job_id=job.id, contents=[None], first=0)
            return
        plan.finish(session, task)
        end_job(session, job_id=job.id, state=JobState.DONE, at=task.at)

    def _note_failure(self, task: Task, phase: Phase, piece: JobPiece, error: Exception) -> None:
        """Give a piece back that has failed, or what remains of it after the last try."""
        reason = "".join(traceback.format_exception_only(error)).strip()
        if piece.tries >= MAX_TRIES:
            self._give_up(task, phase, piece, reason)
            return
        with self.database.write() as session:
            release_piece(session, piece, owner=self.id)

    def _give_up(self, task: Task, phase: Phase, piece: JobPiece, reason: str) -> None:
        """Divide a piece that fails, leave a single thing out, or else let the job fail."""
        with self.database.write() as session:
            lock_job(session, job_id=piece.job_id)
            if not take_out_piece(session, piece, owner=self.id):
                return
            job = get_job(session, job_id=piece.job_id)
            if piece.content is not None and phase.give_up is not None:
                if phase.count(piece.content) > 1:
                    middle = len(piece.content) // 2
                    halves = [piece.content[:middle], piece.content[middle:]]
                    first = find_last_number(session, job_id=job.id) + 1
                    add_pieces(session, job_id=job.id, contents=halves, first=first)
                    return
                phase.give_up(session, task, piece.content)
                change_job(session, job.id, done=job.done + 1)
                if not has_pieces(session, job_id=job.id):
                    self._go_on(session, PLANS[job.kind], job, task)
                return
            end_job(session, job_id=job.id, state=JobState.FAILED, at=task.at, error=reason)

    @contextmanager
    def _showing_life(self) -> Iterator[None]:
        """Extend the leases of what is being done, from a thread of its own."""
        stopping = threading.Event()

        def show() -> None:
            while not stopping.wait(_SIGNS_OF_LIFE_SECONDS):
                # Where the database is away, whoever works notices it, too.
                with suppress(Unavailable), self.database.write() as session:
                    extend_leases(session, owner=self.id, until=self.clock() + LEASE)

        thread = threading.Thread(target=show, name="signs-of-life", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()
