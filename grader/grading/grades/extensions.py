"""Extensions as staff look at them: whom they are for, what they do, and which of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Membership
from grader.grading.context import GradingContext, PublishedAssignment, compute_release_time
from grader.store.database import Session
from grader.store.queries.people import find_names
from grader.store.queries.publications import ExtensionLine, list_extensions
from grader.store.queries.rosters import find_names_by_enrolment


@dataclass(frozen=True, slots=True)
class ExtensionEffect:
    """What holds for a student with an extension."""

    due_at: datetime | None
    is_later: bool
    """Whether that is later than for everybody."""
    attempts: tuple[int, ...]
    """How many attempts there are in all, once for each number that some question has."""


@dataclass(frozen=True, slots=True)
class GivenExtension:
    """An extension, with whom it is for and what it does."""

    line: ExtensionLine
    login: str
    name: str
    by: str | None
    """The name of who gave it; None where that is no person."""
    holds: bool
    """Whether it is the student's newest."""
    is_after_publication: bool
    """Whether rubrics and keys were published already when it was given."""
    effect: ExtensionEffect

    @property
    def takes_back(self) -> bool:
        """Whether it gives nothing, so that what was given before is taken back."""
        return self.line.due_at is None and not self.line.extra_attempts


@dataclass(frozen=True, slots=True)
class AssignmentExtensions:
    """All extensions of an assignment, the newest first."""

    published: PublishedAssignment
    given: tuple[GivenExtension, ...]
    published_at: datetime | None
    """When rubrics and keys are published, or were; None where the assignment has no end."""


def load_extensions(
    session: Session, context: GradingContext, membership: Membership, *, assignment: str
) -> AssignmentExtensions:
    """All extensions of an assignment."""
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    lines = list_extensions(session, run_id=membership.run.id, assignment=assignment)
    called = find_names_by_enrolment(session, enrolment_ids=[each.enrolment_id for each in lines])
    names = find_names(session, person_ids=[each.by for each in lines])
    newest: dict[str, int] = {}
    for line in lines:
        newest[line.enrolment_id] = max(line.number, newest.get(line.enrolment_id, 0))
    given = tuple(
        GivenExtension(
            line,
            *called[line.enrolment_id],
            by=names.get(line.by),
            holds=line.number == newest[line.enrolment_id],
            is_after_publication=_is_after(published, lines[membership + 1 :], line.at),
            effect=compute_extension_effect(published, line),
        )
        for membership, line in enumerate(lines)
    )
    return AssignmentExtensions(published, given, compute_release_time(published, _last_due(lines)))


def compute_extension_effect(
    published: PublishedAssignment, line: ExtensionLine | None
) -> ExtensionEffect:
    """What holds for a student with this extension, or with none."""
    policies = [published.policy(each, line) for each in published.form.questions]
    due_at = policies[0].window.due_at
    return ExtensionEffect(
        due_at,
        is_later=due_at is not None and due_at != published.line.due_at,
        attempts=tuple(sorted({each.most_attempts for each in policies})),
    )


def _is_after(
    published: PublishedAssignment, earlier: Sequence[ExtensionLine], at: datetime
) -> bool:
    """Whether keys were published at that moment, with the extensions that there were then."""
    moment = compute_release_time(published, _last_due(earlier))
    return moment is not None and moment < at


def _last_due(lines: Sequence[ExtensionLine]) -> datetime | None:
    return max((each.due_at for each in lines if each.due_at is not None), default=None)
