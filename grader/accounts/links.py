"""Sign-in links that instructors make for those who take part in their courses."""

from __future__ import annotations

from datetime import datetime

from grader.accounts.callers import Caller, Membership, get_membership
from grader.accounts.sign_in import make_sign_in_link
from grader.domain.roles import Role, Scope
from grader.errors import NotFound, RequestRefused
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, list_enrolments
from grader.store.queries.people import PersonLine, get_person


def make_link_for(
    session: Session, membership: Membership, member: MemberLine, *, at: datetime
) -> str:
    """Make a code that signs in a student or an assistant of the course once.

    Raises
    ------
    Refused
        Where the person may anything, anywhere, that the caller may not.
    MissingScope
        Where a token makes a link for staff and may itself not do what staff may.
    """
    membership.need(Role.INSTRUCTOR)
    membership.caller.need(Scope.ROSTER)
    person = get_person(session, person_id=member.enrolment.person_id)
    if _outranks(session, membership.caller, person):
        raise RequestRefused(
            "Links are made for students and assistants of your own courses; an operator "
            "makes others.",
            code="link.not_allowed",
        )
    if member.enrolment.role is not Role.STUDENT:
        # A session has every scope, so that a link must not give what the token has not.
        membership.caller.need(Scope.GRADES_READ)
        membership.caller.need(Scope.GRADES_WRITE)
    return make_sign_in_link(
        session, person, at=at, by=membership.caller.id, run_id=membership.run.id
    )


def _outranks(session: Session, caller: Caller, person: PersonLine) -> bool:
    """Whether a person may anything, in any course, that the caller may not.

    Whoever has the link is that person everywhere: an instructor who enrols somebody from another
    course must not become that person there.
    """
    if person.is_operator or caller.is_operator:
        return person.is_operator
    return any(
        enrolment.role.rank >= _rank(session, caller, run_id=run.id)
        for enrolment, run in list_enrolments(session, person_id=person.id)
    )


def _rank(session: Session, caller: Caller, *, run_id: str) -> int:
    try:
        return get_membership(session, caller, run_id=run_id).role.rank
    except NotFound:
        return -1
