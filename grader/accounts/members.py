"""One person at a time: somebody is added to a course by hand, or gets another role or section."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from grader.accounts.callers import Membership
from grader.accounts.people import (
    describe_email_problem,
    describe_login_problem,
    describe_name_problem,
    normalize_text,
)
from grader.accounts.roster_files import Roster, RosterLine, describe_section_problem
from grader.accounts.roster_plans import RosterChange, check_roster_access, plan_roster
from grader.accounts.rosters import apply_roster, enrol
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, find_member
from grader.store.queries.people import get_person

# A roster of one has its only line here.
_ONLY_LINE = 1


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
    """Add somebody who does not take part yet; an account is made where there is none.

    An account that is there already keeps its name and its address, as with any roster.

    Raises
    ------
    MalformedRequest
        With every field that cannot be used, and for somebody who takes part already.
    """
    check_roster_access(membership)
    line = RosterLine(
        _ONLY_LINE,
        normalize_text(login),
        normalize_text(name),
        normalize_text(email) or None,
        role,
        normalize_text(section),
    )
    faults = _faults(line)
    if not faults and find_member(session, run_id=membership.run.id, login=line.login):
        says = f"{line.login} takes part already; change it on the page of {line.login}."
        faults = [ErrorDetail("#/login", "login.twice", says)]
    if faults:
        raise MalformedRequest(faults[0].detail, code="member.invalid", faults=tuple(faults))
    try:
        plan = plan_roster(session, membership, Roster((line,)), is_complete=False)
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
    """Give somebody another role or section; what is so already stays.

    Raises
    ------
    MalformedRequest
        Where the section cannot be used, or the role cannot be given.
    """
    check_roster_access(membership)
    person = get_person(session, person_id=member.enrolment.person_id)
    try:
        return enrol(
            session,
            membership,
            person,
            role=role,
            section=normalize_text(section),
            at=at,
            by=membership.caller.id,
        )
    except MalformedRequest as error:
        raise _without_line_numbers(error) from None


def _faults(line: RosterLine) -> list[ErrorDetail]:
    problems = {
        "login": describe_login_problem(line.login),
        "name": describe_name_problem(line.name),
        "email": describe_email_problem(line.email) if line.email else "",
        "section": describe_section_problem(line.section or ""),
    }
    return [
        ErrorDetail(f"#/{field}", f"{field}.invalid", problem)
        for field, problem in problems.items()
        if problem
    ]


def _without_line_numbers(error: MalformedRequest) -> MalformedRequest:
    """The same refusal for somebody who has filled in fields and sees no lines."""
    faults = tuple(
        replace(
            each,
            pointer=f"#/{each.pointer.rpartition('/')[2]}",
            detail=each.detail.removeprefix(f"Line {_ONLY_LINE}: "),
        )
        for each in error.faults
    )
    return MalformedRequest(faults[0].detail, code="member.invalid", faults=faults)
