"""The results of an integrity check, as staff see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Membership
from grader.domain.roles import Role
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
from grader.store.queries.people import find_names


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
