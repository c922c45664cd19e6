"""Extensions: a student gets more time or more attempts; the newest extension replaces the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Membership, record_action
from grader.domain.roles import Role
from grader.grading.context import GradingContext, PublishedAssignment, compute_release_time
from grader.grading.dates import normalize_date
from grader.grading.grades.overrides import check_reason
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.store.database import Session
from grader.store.queries.courses import MemberLine
from grader.store.queries.facts import RecordedTable
from grader.store.queries.grades import find_grades
from grader.store.queries.people import find_names
from grader.store.queries.publications import ExtensionLine, add_extension, list_extensions
from grader.store.queries.rosters import find_names_by_enrolment


def record_extension(
    session: Session,
    context: GradingContext,
    membership: Membership,
    member: MemberLine,
    *,
    assignment: str,
    due_at: datetime | None,
    extra_attempts: int,
    reason: str,
    at: datetime,
) -> ExtensionLine:
    """Give a student more time or more attempts, instead of any earlier extension."""
    membership.need(Role.INSTRUCTOR)
    membership.refuse_own_work(member.enrolment.id)
    reason = check_reason(reason)
    due_at = normalize_date(due_at, field="due_at")
    run_id, owner = membership.run.id, member.enrolment.id
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    lock_students(session, [(owner, assignment)], run_ids=[run_id])
    line = add_extension(
        session,
        run_id=run_id,
        enrolment_id=owner,
        assignment=assignment,
        due_at=due_at,
        extra_attempts=extra_attempts,
        reason=reason,
        by=membership.caller.id,
        at=at,
    )
    record_action(
        session, membership, at=at, action="extension.given", subject=owner,
        details={
            "assignment": assignment,
            "due_at": due_at.isoformat() if due_at else None,
            "extra_attempts": extra_attempts,
            "reason": reason,
        },
        changed={RecordedTable.EXTENSIONS: [line.id]},
    )  # fmt: skip
    keys = [(owner, assignment, each) for each in published.form.questions]
    # An attempt that was late may be in time now.
    graded = find_grades(session, parts=keys)
    update_grades(session, context, run_id=run_id, parts=graded, at=at)
    return line


def find_latest_extensions(
    session: Session, *, run_id: str, assignment: str
) -> dict[str, ExtensionLine]:
    """The extensions in force for an assignment, by enrolment."""
    return _select_latest(list_extensions(session, run_id=run_id, assignment=assignment))


def _select_latest(lines: Sequence[ExtensionLine]) -> dict[str, ExtensionLine]:
    # The newest one of each student is written last, and stays.
    return {each.enrolment_id: each for each in sorted(lines, key=lambda each: each.number)}


@dataclass(frozen=True, slots=True)
class ExtensionEffect:
    """The due date and the number of attempts of a student with an extension."""

    due_at: datetime | None
    is_later: bool
    """Whether the due date is later than everybody else's."""
    attempts: tuple[int, ...]
    """The attempts allowed in all: every number that occurs among the questions."""


@dataclass(frozen=True, slots=True)
class GivenExtension:
    """An extension with its student and its effect."""

    line: ExtensionLine
    login: str
    name: str
    by: str | None
    """The name of the person who gave it; None for a service."""
    holds: bool
    """Whether it is the student's newest."""
    is_after_publication: bool
    """Whether rubrics and keys were already public when it was given."""
    effect: ExtensionEffect

    @property
    def takes_back(self) -> bool:
        """Whether it gives nothing and so withdraws the earlier extensions."""
        return self.line.due_at is None and not self.line.extra_attempts


@dataclass(frozen=True, slots=True)
class AssignmentExtensions:
    """All extensions of an assignment, the newest first."""

    published: PublishedAssignment
    given: tuple[GivenExtension, ...]
    published_at: datetime | None
    """When rubrics and keys become public; None if the assignment never ends."""


def load_extensions(
    session: Session, context: GradingContext, membership: Membership, *, assignment: str
) -> AssignmentExtensions:
    """All extensions of an assignment."""
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    lines = list_extensions(session, run_id=membership.run.id, assignment=assignment)
    students = find_names_by_enrolment(session, enrolment_ids=[each.enrolment_id for each in lines])
    names = find_names(session, person_ids=[each.by for each in lines])
    latest = _select_latest(lines)
    given = tuple(
        GivenExtension(
            line,
            *students[line.enrolment_id],
            by=names.get(line.by),
            holds=line == latest[line.enrolment_id],
            is_after_publication=_is_after_release(published, lines[place + 1 :], line.at),
            effect=compute_extension_effect(published, line),
        )
        for place, line in enumerate(lines)
    )
    return AssignmentExtensions(published, given, compute_release_time(published, _last_due(lines)))


def compute_extension_effect(
    published: PublishedAssignment, line: ExtensionLine | None
) -> ExtensionEffect:
    """What applies to a student with this extension, or without one."""
    policies = [published.policy(each, line) for each in published.form.questions]
    due_at = policies[0].window.due_at
    return ExtensionEffect(
        due_at,
        is_later=due_at is not None and due_at != published.line.due_at,
        attempts=tuple(sorted({each.most_attempts for each in policies})),
    )


def _is_after_release(
    published: PublishedAssignment, earlier: Sequence[ExtensionLine], at: datetime
) -> bool:
    """Whether keys were public at that time, given the extensions before it."""
    released_at = compute_release_time(published, _last_due(earlier))
    return released_at is not None and released_at < at


def _last_due(lines: Sequence[ExtensionLine]) -> datetime | None:
    return max((each.due_at for each in lines if each.due_at is not None), default=None)
