"""One person at a time: somebody is added to a course by hand, or gets another role or section."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from grader.accounts.callers import Place
from grader.accounts.people import email_problem, login_problem, name_problem, tidy
from grader.accounts.roster_files import Roster, RosterLine, section_problem
from grader.accounts.roster_plans import RosterChange, enter_roster, plan_roster
from grader.accounts.rosters import apply_roster, enrol
from grader.domain.roles import Role
from grader.errors import Fault, MalformedRequest
from grader.store.database import Session
from grader.store.queries.courses import Member, find_member
from grader.store.queries.people import get_person

# A roster of one has its only line here.
_LINE = 1


def add_member(
    session: Session,
    place: Place,
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
    enter_roster(place)
    line = RosterLine(_LINE, tidy(login), tidy(name), tidy(email) or None, role, tidy(section))
    faults = _faults(line)
    if not faults and find_member(session, run_id=place.run.id, login=line.login):
        says = f"{line.login} takes part already; change it on the page of {line.login}."
        faults = [Fault("#/login", "login.twice", says)]
    if faults:
        raise MalformedRequest(faults[0].detail, code="member.invalid", faults=tuple(faults))
    try:
        plan = plan_roster(session, place, Roster((line,)), is_complete=False)
    except MalformedRequest as error:
        raise _of_one(error) from None
    apply_roster(session, place, plan, at=at, by=place.caller.id)
    return plan.changes[0]


def change_member(
    session: Session, place: Place, member: Member, *, role: Role, section: str, at: datetime
) -> RosterChange:
    """Give somebody another role or section; what is so already stays.

    Raises
    ------
    MalformedRequest
        Where the section cannot be used, or the role cannot be given.
    """
    enter_roster(place)
    person = get_person(session, person_id=member.enrolment.person_id)
    try:
        return enrol(
            session, place, person, role=role, section=tidy(section), at=at, by=place.caller.id
        )
    except MalformedRequest as error:
        raise _of_one(error) from None


def _faults(line: RosterLine) -> list[Fault]:
    problems = {
        "login": login_problem(line.login),
        "name": name_problem(line.name),
        "email": email_problem(line.email) if line.email else "",
        "section": section_problem(line.section or ""),
    }
    return [
        Fault(f"#/{field}", f"{field}.invalid", problem)
        for field, problem in problems.items()
        if problem
    ]


def _of_one(error: MalformedRequest) -> MalformedRequest:
    """The same refusal for somebody who has filled in fields and sees no lines."""
    faults = tuple(
        replace(
            each,
            pointer=f"#/{each.pointer.rpartition('/')[2]}",
            detail=each.detail.removeprefix(f"Line {_LINE}: "),
        )
        for each in error.faults
    )
    return MalformedRequest(faults[0].detail, code="member.invalid", faults=faults)
