"""What an integrity check has found, as staff look at it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import NotFound
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.integrity.cases import describe_exclusion
from grader.grading.integrity.check import is_stale
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.store.database import Session
from grader.store.queries.integrity import (
    FAILED,
    FINISHED,
    RUNNING,
    IntegrityCheckLine,
    ResemblanceDetails,
    find_check,
    list_resemblances,
)
from grader.store.queries.people import get_person


@dataclass(frozen=True, slots=True)
class ResemblanceEvidence:
    """A resemblance with the chance that it is an accident."""

    found: ResemblanceDetails
    chance: CoincidenceRate


@dataclass(frozen=True, slots=True)
class IntegrityResults:
    """The check that runs or ran last, and what the last finished one has found.

    `telling` is sorted by chance, the smallest first; `accidents` happen by accident too often to
    say anything.
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
        """Whether a check is under way now."""
        return self.newest is not None and self.newest.state == RUNNING and not self.is_stale

    @property
    def failed(self) -> IntegrityCheckLine | None:
        """The newest check where it came to no end."""
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
    """What is known about an assignment; NotFound where the course run has none such."""
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    newest = find_check(session, run_id=membership.run.id, assignment=assignment)
    finished = find_check(session, run_id=membership.run.id, assignment=assignment, state=FINISHED)
    found = list_resemblances(session, check_id=finished.id) if finished else []
    evidence = [_evidence(each) for each in found]
    rubrics = published.assignment.rubrics.items()
    return IntegrityResults(
        published=published,
        newest=newest,
        is_stale=newest is not None and is_stale(newest, at=at),
        finished=finished,
        by=_name(session, finished.by) if finished else "",
        telling=_sorted(each for each in evidence if not each.chance.says_nothing),
        accidents=tuple(each for each in evidence if each.chance.says_nothing),
        left_out={name: why for name, rubric in rubrics if (why := describe_exclusion(rubric))},
    )


def _evidence(found: ResemblanceDetails) -> ResemblanceEvidence:
    line = found.line
    return ResemblanceEvidence(found, CoincidenceRate(line.hits, line.tried, line.others))


def _sorted(evidence: Iterable[ResemblanceEvidence]) -> tuple[ResemblanceEvidence, ...]:
    return tuple(sorted(evidence, key=lambda each: each.chance.for_any))


def _name(session: Session, person_id: str) -> str:
    """What the person is called; a service, which is none, by its id."""
    try:
        return get_person(session, person_id=person_id).name
    except NotFound:
        return person_id
