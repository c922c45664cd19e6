"""Who takes part in a course run: rosters are applied, and single people are enrolled or leave."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from grader.accounts.callers import Membership
from grader.accounts.people import check_fields, normalize_text
from grader.accounts.roster_files import Roster, RosterLine
from grader.accounts.roster_plans import (
    RosterChange,
    RosterChangeKind,
    RosterPlan,
    check_roster_access,
    plan_roster,
)
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, NotFound, RequestRefused
from grader.store.database import Session, lock
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import (
    EnrolmentLine,
    MemberLine,
    RunLine,
    add_enrolments,
    find_member,
)
from grader.store.queries.facts import ChangedRows, RecordedTable
from grader.store.queries.people import PersonLine, add_people, get_person
from grader.store.queries.rosters import change_enrolments, change_people, update_planner_statistics
from grader.store.rows import make_id

# From this many new people on, the database's statistics are updated.
_LARGE_ROSTER = 1000
# The line of the only person on a roster of one.
_ONLY_LINE = 1


def apply_roster(
    session: Session, where: Membership | RunLine, plan: RosterPlan, *, at: datetime, by: str
) -> None:
    """Carry out a plan, all of it or nothing, with one entry in the audit chain.

    Raises
    ------
    RequestRefused
        If the course run has changed since, so that something else would happen.
    """
    run = check_roster_access(where)
    # Two rosters wait for each other, and the second sees what the first changed.
    lock(session, ["audit"])
    if plan_roster(session, where, plan.roster, is_complete=plan.is_complete) != plan:
        raise RequestRefused(
            "The course has changed since this was planned. Look at it again.",
            code="roster.outdated",
        )
    if not plan.is_idle:
        people, added = _add(session, run, plan, at=at)
        renamed, moved = _change(session, run, plan, at=at)
        changed = {
            RecordedTable.PEOPLE: [*people, *renamed],
            RecordedTable.ENROLMENTS: [*(each.id for each in added), *moved],
        }
        _record(session, run, plan, added, changed, at=at, by=by)


def apply_confirmed_roster(
    session: Session,
    where: Membership | RunLine,
    roster: Roster,
    *,
    is_complete: bool,
    digest: str,
    at: datetime,
    by: str,
) -> RosterPlan:
    """Apply a roster if its plan still has the digest that was confirmed.

    Raises
    ------
    RequestRefused
        If it would change anything else now.
    """
    # From here on nobody else changes who takes part.
    lock(session, ["audit"])
    plan = plan_roster(session, where, roster, is_complete=is_complete)
    if plan.digest != digest:
        raise RequestRefused(
            "What this roster changes is no longer what you saw. Look at it again.",
            code="roster.outdated",
        )
    apply_roster(session, where, plan, at=at, by=by)
    return plan


def _add(
    session: Session, run: RunLine, plan: RosterPlan, *, at: datetime
) -> tuple[list[str], list[EnrolmentLine]]:
    """Add new accounts and enrolments; returns the ids of the accounts, and the enrolments."""
    people = {each.login: make_id("per") for each in plan.of(RosterChangeKind.NEW)}
    add_people(
        session,
        [_person(each, people[each.login]) for each in plan.of(RosterChangeKind.NEW)],
        at=at,
    )
    added = [
        EnrolmentLine(
            make_id("enr"), run.id, each.person_id or people[each.login], each.role, each.section
        )
        for each in plan.of(RosterChangeKind.NEW, RosterChangeKind.ENROLLED)
    ]
    add_enrolments(session, added, at=at)
    if len(added) >= _LARGE_ROSTER:
        update_planner_statistics(session)
    return list(people.values()), added


def _change(
    session: Session, run: RunLine, plan: RosterPlan, *, at: datetime
) -> tuple[list[str], list[str]]:
    """Change accounts and enrolments; returns the ids of those changed, of either."""
    staying = plan.of(RosterChangeKind.RETURNING, RosterChangeKind.CHANGED)
    renamed = [each for each in staying if each.changes("name") or each.changes("email")]
    change_people(session, [_person(each, each.person_id or "") for each in renamed])
    returning = [_enrolment(run, each) for each in staying]
    change_enrolments(session, returning, left_at=None)
    leaving = [_enrolment(run, each) for each in plan.of(RosterChangeKind.LEAVING)]
    change_enrolments(session, leaving, left_at=at)
    return [each.person_id or "" for each in renamed], [each.id for each in returning + leaving]


def _person(change: RosterChange, person_id: str) -> PersonLine:
    return PersonLine(person_id, change.login, change.name, change.email, is_operator=False)


def _enrolment(run: RunLine, change: RosterChange) -> EnrolmentLine:
    return EnrolmentLine(
        change.enrolment_id or "", run.id, change.person_id or "", change.role, change.section
    )


def _record(
    session: Session,
    run: RunLine,
    plan: RosterPlan,
    added: list[EnrolmentLine],
    changed: ChangedRows,
    *,
    at: datetime,
    by: str,
) -> None:
    """Record the counts in the audit chain, and every role that is not a new student's."""
    roles = {each.id: each.role.value for each in added if each.role is not Role.STUDENT}
    for change in plan.of(RosterChangeKind.RETURNING, RosterChangeKind.CHANGED):
        if change.enrolment_id and change.changes("role"):
            roles[change.enrolment_id] = change.role.value
    details = {
        "counts": {kind.value: count for kind, count in plan.counts.items()},
        "is_complete": plan.is_complete,
        "roles": roles,
    }
    add_audit_entry(
        session, at=at, by=by, run_id=run.id, action="roster.applied", subject=run.id,
        details=details, changed=changed,
    )  # fmt: skip


# One person


def enrol(
    session: Session,
    where: Membership | RunLine,
    person: PersonLine,
    *,
    role: Role,
    section: str | None = None,
    at: datetime,
    by: str,
) -> RosterChange:
    """Enrol one person, or change the person's role or section; a section of None stays."""
    if faults := check_fields(section=section):
        raise MalformedRequest.of(*faults)
    roster = Roster((RosterLine(_ONLY_LINE, person.login, person.name, None, role, section),))
    plan = plan_roster(session, where, roster, is_complete=False)
    apply_roster(session, where, plan, at=at, by=by)
    return plan.changes[0]


def add_member(
    session: Session,
    membership: Membership,
    *,
    login: str,
    name: str,
    email: str,
    role: Role,
    section: str,
    at: datetime,
) -> RosterChange:
    """Enrol somebody who does not take part yet, and make an account if there is none.

    An existing account keeps its name and its address, as with any roster.

    Raises
    ------
    MalformedRequest
        With every field that cannot be used, or if the person takes part already.
    """
    check_roster_access(membership)
    login, name, section = normalize_text(login), normalize_text(name), normalize_text(section)
    email_or_none = normalize_text(email) or None
    faults = check_fields(login=login, name=name, email=email_or_none, section=section)
    if not faults and find_member(session, run_id=membership.run.id, login=login):
        detail = f"{login} takes part already; change the role on the page of {login}."
        faults = [ErrorDetail("login", "login.twice", detail)]
    if faults:
        raise MalformedRequest.of(*faults, code="member.invalid")
    roster = Roster((RosterLine(_ONLY_LINE, login, name, email_or_none, role, section),))
    try:
        plan = plan_roster(session, membership, roster, is_complete=False)
    except MalformedRequest as error:
        raise _without_line_numbers(error) from None
    apply_roster(session, membership, plan, at=at, by=membership.caller.id)
    return plan.changes[0]


def change_member(
    session: Session,
    membership: Membership,
    member: MemberLine,
    *,
    role: Role,
    section: str,
    at: datetime,
) -> RosterChange:
    """Change somebody's role or section; MalformedRequest if that is not possible."""
    check_roster_access(membership)
    person = get_person(session, person_id=member.enrolment.person_id)
    section = normalize_text(section)
    by = membership.caller.id
    try:
        return enrol(session, membership, person, role=role, section=section, at=at, by=by)
    except MalformedRequest as error:
        raise _without_line_numbers(error) from None


def _without_line_numbers(error: MalformedRequest) -> MalformedRequest:
    """The same error for a form, which has fields and no lines."""
    faults = [
        replace(
            each,
            field=each.path[-1:],
            detail=each.detail.removeprefix(f"Line {_ONLY_LINE}: "),
        )
        for each in error.faults
    ]
    return MalformedRequest.of(*faults, code="member.invalid")


def end_enrolment(
    session: Session, where: Membership | RunLine, member: MemberLine, *, at: datetime, by: str
) -> None:
    """End somebody's enrolment, whatever their role.

    Raises
    ------
    RequestRefused
        If it is the caller's own, who could not come back alone, or a service removes staff.
    """
    run = check_roster_access(where)
    if member.enrolment.run_id != run.id:
        raise NotFound
    if isinstance(where, Membership):
        _refuse_leaving(where, member.enrolment)
    change_enrolments(session, [member.enrolment], left_at=at)
    add_audit_entry(
        session, at=at, by=by, run_id=run.id, action="member.left", subject=member.enrolment.id,
        changed={RecordedTable.ENROLMENTS: [member.enrolment.id]},
    )  # fmt: skip


def _refuse_leaving(membership: Membership, enrolment: EnrolmentLine) -> None:
    if membership.owns(enrolment.id):
        raise RequestRefused(
            "You cannot remove yourself; ask another instructor.", code="member.own"
        )
    if membership.caller.person is None and enrolment.role is not Role.STUDENT:
        raise RequestRefused("A service may remove students only.", code="member.staff")
