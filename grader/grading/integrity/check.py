"""Integrity checks: which wrong answers solve somebody else's variant, and how probable that is.

A check runs in the background, records its progress, and is kept until the next one. Its results
are evidence for people; they change no grade.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from grader.accounts.callers import Membership, record_action
from grader.domain.roles import Role
from grader.engine.random.draws import DrawFailed
from grader.errors import KeysetError, Unavailable
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.integrity.cases import describe_exclusion, load_rubric_attempts
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.grading.integrity.search import search_copied_answers
from grader.store.database import Database, Session, lock
from grader.store.queries.integrity import (
    FAILED,
    FINISHED,
    RUNNING,
    IntegrityCheckLine,
    ResemblanceDetails,
    ResemblanceLine,
    add_check,
    add_resemblances,
    count_attempts,
    find_check,
    finish_check,
    list_resemblances,
    record_failure,
    record_progress,
)
from grader.store.queries.people import find_names
from grader.store.rows import make_id

#: A check that has recorded no progress for this long belongs to a dead process.
STALE_AFTER = timedelta(minutes=3)
_PROGRESS_INTERVAL = timedelta(seconds=1)

_PROCESS_GONE = "The process that ran the check has stopped."


def is_stale(check: IntegrityCheckLine, *, at: datetime) -> bool:
    """Whether a check is marked as running although its process is gone."""
    return check.state == RUNNING and at - check.seen_at > STALE_AFTER


def start_check(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
) -> IntegrityCheckLine | None:
    """Begin a check; None if one is running already.

    Raises
    ------
    NotFound
        If the course run has no such assignment.
    """
    membership.need(Role.INSTRUCTOR)
    run_id = membership.run.id
    context.in_force(session, run_id=run_id, assignment=assignment)
    lock(session, [f"integrity {run_id} {assignment}"])
    before = find_check(session, run_id=run_id, assignment=assignment)
    if before is not None and before.state == RUNNING:
        if not is_stale(before, at=at):
            return None
        record_failure(session, check_id=before.id, error=_PROCESS_GONE, at=at)
    check = IntegrityCheckLine(
        id=make_id("chk"),
        run_id=run_id,
        assignment=assignment,
        state=RUNNING,
        done=0,
        of=count_attempts(session, run_id=run_id, assignment=assignment),
        pairs=0,
        by_accident=0,
        error="",
        by=membership.caller.id,
        started_at=at,
        seen_at=at,
        finished_at=None,
    )
    add_check(session, check)
    details = {"assignment": assignment}
    record_action(
        session, membership, at=at, action="integrity.started", subject=check.id, details=details
    )
    return check


class _CheckStopped(Exception):
    """The check must end: the service stops, or another process took it for stale."""


@dataclass(slots=True)
class CheckRun:
    """A running check; `write` carries out a change of the store and waits for it."""

    database: Database
    write: Callable[[Callable[[Session], Any]], Any]
    context: GradingContext
    clock: Callable[[], datetime]
    should_end: Callable[[], bool]
    check: IntegrityCheckLine
    _done: int = 0
    _pairs: int = 0
    _by_accident: int = 0
    _reported_at: datetime | None = None
    _lines: list[ResemblanceLine] = field(default_factory=list)

    def run(self) -> None:
        """Check everything, and store the results or the reason why there are none."""
        try:
            for question in self._questions():
                self._check_question(question)
            self.write(self._finish)
        except _CheckStopped:
            self._fail("The service stopped before the check was done.")
        except (KeysetError, DrawFailed, ArithmeticError, MemoryError) as error:
            (reason, *_) = str(error).splitlines() or [type(error).__name__]
            self._fail(reason[:300])
        except BaseException as error:
            self._fail(f"The check failed: {type(error).__name__}.")
            raise

    def _fail(self, error: str) -> None:
        at = self.clock()
        # If nothing can be written any more, the check will be found stale later.
        with suppress(Unavailable):
            self.write(lambda s: record_failure(s, check_id=self.check.id, error=error, at=at))

    def _finish(self, session: Session) -> None:
        is_ours = finish_check(
            session, check_id=self.check.id, done=self._done, pairs=self._pairs,
            by_accident=self._by_accident, at=self.clock(),
        )  # fmt: skip
        if is_ours:
            add_resemblances(session, self._lines)

    def _report(self, attempts: int, pairs: int) -> None:
        self._done += attempts
        self._pairs += pairs
        if self.should_end():
            raise _CheckStopped
        at = self.clock()
        if self._reported_at is not None and at - self._reported_at < _PROGRESS_INTERVAL:
            return
        self._reported_at = at
        is_running = self.write(
            lambda session: record_progress(
                session,
                check_id=self.check.id,
                done=self._done,
                of=max(self.check.of, self._done),
                pairs=self._pairs,
                at=at,
            )
        )
        if not is_running:
            raise _CheckStopped

    def _questions(self) -> list[str]:
        with self.database.read() as session:
            run_id, assignment = self.check.run_id, self.check.assignment
            published = self.context.in_force(session, run_id=run_id, assignment=assignment)
        return list(published.assignment.rubrics)

    def _check_question(self, question: str) -> None:
        with self.database.read() as session:
            cases = load_rubric_attempts(
                session, self.context, run_id=self.check.run_id, assignment=self.check.assignment,
                question=question,
            )  # fmt: skip
        for case in cases:
            self._report(len(case.attempts) - len(case.suspects), 0)
            found = search_copied_answers(
                case.judge, case.suspects, case.variants, report=self._report
            )
            self._by_accident += found.by_accident
            for finding in found.findings:
                self._lines += case.lines(finding, check=self.check)


@dataclass(frozen=True, slots=True)
class ResemblanceEvidence:
    """A resemblance with the probability that it is an accident."""

    found: ResemblanceDetails
    chance: CoincidenceRate


@dataclass(frozen=True, slots=True)
class IntegrityResults:
    """The newest check, and what the last finished one has found.

    `telling` is sorted by probability, the smallest first; `accidents` happen by accident too often
    to be evidence.
    """

    published: PublishedAssignment
    newest: IntegrityCheckLine | None
    is_stale: bool
    finished: IntegrityCheckLine | None
    by: str
    telling: tuple[ResemblanceEvidence, ...]
    accidents: tuple[ResemblanceEvidence, ...]
    left_out: dict[str, str]

    @property
    def is_running(self) -> bool:
        """Whether a check is running now."""
        return self.newest is not None and self.newest.state == RUNNING and not self.is_stale

    @property
    def failed(self) -> IntegrityCheckLine | None:
        """The newest check if it has failed."""
        newest = self.newest
        return newest if newest is not None and newest.state == FAILED else None

    @property
    def solving(self) -> int:
        """How many attempts solve the variant of at least one other student."""
        return len({each.found.line.attempt_id for each in (*self.telling, *self.accidents)})


def load_results(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
) -> IntegrityResults:
    """Load an assignment's results; NotFound if the course run has no such assignment."""
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    newest = find_check(session, run_id=membership.run.id, assignment=assignment)
    finished = find_check(session, run_id=membership.run.id, assignment=assignment, state=FINISHED)
    found = list_resemblances(session, check_id=finished.id) if finished else []
    evidence = [
        ResemblanceEvidence(
            each, CoincidenceRate(each.line.hits, each.line.tried, each.line.others)
        )
        for each in found
    ]
    by = finished.by if finished else ""
    telling = [each for each in evidence if not each.chance.is_uninformative]
    rubrics = published.assignment.rubrics.items()
    return IntegrityResults(
        published=published,
        newest=newest,
        is_stale=newest is not None and is_stale(newest, at=at),
        finished=finished,
        # A service has no name and is shown by its id.
        by=find_names(session, person_ids=[by]).get(by, by),
        telling=tuple(sorted(telling, key=lambda each: each.chance.for_any)),
        accidents=tuple(each for each in evidence if each.chance.is_uninformative),
        left_out={name: why for name, rubric in rubrics if (why := describe_exclusion(rubric))},
    )
