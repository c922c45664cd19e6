"""Who takes part in a course run: rosters are read, planned, shown and then applied.

`grader.accounts.roster_files` reads them, `grader.accounts.roster_plans` says what they would
change and what they may not.
"""

from __future__ import annotations

from datetime import datetime

from grader.accounts.callers import Membership
from grader.accounts.roster_files import (
    Roster,
    RosterLine,
    decode_roster,
    describe_section_problem,
    read_roster,
)
from grader.accounts.roster_plans import (
    Difference,
    RosterChange,
    RosterChangeKind,
    RosterPlan,
    check_roster_access,
    plan_roster,
)
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, NotFound, RequestRefused
from grader.store.database import Session, lock
from grader.store.ids import make_id
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import EnrolmentLine, MemberLine, RunLine, add_enrolments
from grader.store.queries.people import PersonLine, add_people
from grader.store.queries.rosters import change_enrolments, change_people, update_planner_statistics

__all__ = [
    "Difference",
    "Roster",
    "RosterChange",
    "RosterChangeKind",
    "RosterLine",
    "RosterPlan",
    "apply_confirmed_roster",
    "apply_roster",
    "decode_roster",
    "end_enrolment",
    "enrol",
    "plan_roster",
    "read_roster",
]

# So many people at once are worth telling the database.
_LARGE_ROSTER = 1000


def apply_roster(
    session: Session, where: Membership | RunLine, plan: RosterPlan, *, at: datetime, by: str
) -> None:
    """Do what a plan says, all of it or nothing, with one entry in the audit chain.

    Raises
    ------
    Refused
        Where the course run has changed since, so that something else would happen.
    """
    run = check_roster_access(where)
    # Two rosters wait for each other, and see what the other one did.
    lock(session, ["audit"])
    if plan_roster(session, where, plan.roster, is_complete=plan.is_complete) != plan:
        raise RequestRefused(
            "The course has changed since this was planned. Look at it again.",
            code="roster.outdated",
        )
    if not plan.is_idle:
        added = _add(session, run, plan, at=at)
        _change(session, run, plan, at=at)
        _record(session, run, plan, added, at=at, by=by)


def apply_confirmed_roster(
    session: Session,
    where: Membership | RunLine,
    roster: Roster,
    *,
    is_complete: bool,
    seen: str,
    at: datetime,
    by: str,
) -> RosterPlan:
    """Apply a roster if it still changes exactly what somebody has seen: the plan of that digest.

    Raises
    ------
    Refused
        Where anything else would happen now.
    """
    # From here on nobody else changes who takes part.
    lock(session, ["audit"])
    plan = plan_roster(session, where, roster, is_complete=is_complete)
    if plan.digest != seen:
        raise RequestRefused(
            "What this roster changes is no longer what you saw. Look at it again.",
            code="roster.outdated",
        )
    apply_roster(session, where, plan, at=at, by=by)
    return plan


def _add(session: Session, run: RunLine, plan: RosterPlan, *, at: datetime) -> list[EnrolmentLine]:
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
    return added


def _change(session: Session, run: RunLine, plan: RosterPlan, *, at: datetime) -> None:
    staying = plan.of(RosterChangeKind.RETURNING, RosterChangeKind.CHANGED)
    renamed = [each for each in staying if each.changes("name") or each.changes("email")]
    change_people(session, [_person(each, each.person_id or "") for each in renamed])
    change_enrolments(session, [_enrolment(run, each) for each in staying], left_at=None)
    leaving = [_enrolment(run, each) for each in plan.of(RosterChangeKind.LEAVING)]
    change_enrolments(session, leaving, left_at=at)


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
    """Enrol one person, or change the person's role or section; without one it stays."""
    problem = describe_section_problem(section or "")
    if problem:
        fault = ErrorDetail("#/section", "section.invalid", problem)
        raise MalformedRequest(problem, code=fault.code, faults=(fault,))
    roster = Roster((RosterLine(1, person.login, person.name, None, role, section),))
    plan = plan_roster(session, where, roster, is_complete=False)
    apply_roster(session, where, plan, at=at, by=by)
    return plan.changes[0]


def end_enrolment(
    session: Session, where: Membership | RunLine, member: MemberLine, *, at: datetime, by: str
) -> None:
    """Note that somebody, of whatever role, takes part no longer.

    Raises
    ------
    Refused
        Where it is the caller, who could not come back alone, or a service sends staff away.
    """
    run = check_roster_access(where)
    if member.enrolment.run_id != run.id:
        raise NotFound
    if isinstance(where, Membership):
        _refuse_leaving(where, member.enrolment)
    change_enrolments(session, [member.enrolment], left_at=at)
    add_audit_entry(
        session, at=at, by=by, run_id=run.id, action="member.left", subject=member.enrolment.id
    )


def _refuse_leaving(membership: Membership, enrolment: EnrolmentLine) -> None:
    if membership.enrolment == enrolment:
        raise RequestRefused(
            "You cannot send yourself away; ask another instructor.", code="member.own"
        )
    if membership.caller.person is None and enrolment.role is not Role.STUDENT:
        raise RequestRefused("A service sends away students only.", code="member.staff")


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
    *,
    at: datetime,
    by: str,
) -> None:
    """Tell the audit chain how many came and went, and whose role is not just a new student's."""
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
        details=details,
    )  # fmt: skip
