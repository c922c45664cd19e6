"""The caller of the service, and what the caller may do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.errors import MissingRole, MissingScope, NotFound, NotSignedIn, RequestRefused
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import EnrolmentLine, RunLine, find_enrolment, find_run
from grader.store.queries.credentials import find_session_person, find_token
from grader.store.queries.people import PersonLine

#: How often the use of a token is recorded.
_TOKEN_USE_INTERVAL = timedelta(hours=1)
#: The prefix of every token, so that a leaked one is recognised.
TOKEN_PREFIX = "keyset_"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: a person, or a service of one course run."""

    id: str
    """The id recorded with every action: a person's, or a service token's."""
    scopes: frozenset[Scope]
    person: PersonLine | None = None
    run_id: str | None = None
    """For a service, its course run."""
    token_id: str | None = None
    token_used_at: datetime | None = None
    """The last recorded use of the token, accurate to about an hour."""
    token_expires_at: datetime | None = None

    @property
    def is_operator(self) -> bool:
        """Whether the caller operates the service, by session or by token."""
        return self.person is not None and self.person.is_operator

    def need(self, scope: Scope) -> None:
        """Refuse a caller whose token lacks this scope."""
        if scope not in self.scopes:
            raise MissingScope(scope.value)

    def need_person(self) -> PersonLine:
        """The person who calls; a service is refused."""
        if self.person is None:
            raise MissingRole("Only a person can do this; a service has nothing of its own here.")
        return self.person


@dataclass(frozen=True, slots=True)
class Membership:
    """A caller in a course run, with the caller's role there."""

    caller: Caller
    run: RunLine
    role: Role
    enrolment: EnrolmentLine | None

    @property
    def is_staff(self) -> bool:
        """Whether the caller may see everybody's work."""
        return self.role.rank >= Role.ASSISTANT.rank

    def need(self, role: Role) -> None:
        """Refuse a caller of a lower role."""
        if self.role.rank < role.rank:
            who = {Role.ASSISTANT: "assistants and instructors", Role.INSTRUCTOR: "instructors"}
            raise MissingRole(f"Only {who.get(role, 'participants')} of this course may do this.")

    def need_enrolment(self) -> EnrolmentLine:
        """The caller's own enrolment; callers without one are refused."""
        if self.enrolment is None:
            raise MissingRole("Only participants of this course may do this.")
        return self.enrolment

    def refuse_own_work(self, enrolment_id: str) -> None:
        """Refuse a caller who would decide about their own work."""
        if self.enrolment is not None and self.enrolment.id == enrolment_id:
            raise RequestRefused("Nobody decides about their own work.", code="own.work")


def record_action(
    session: Session,
    membership: Membership,
    *,
    at: datetime,
    action: str,
    subject: str,
    details: dict[str, Any] | None = None,
) -> None:
    """Record in the audit chain what the caller did in the course run."""
    add_audit_entry(
        session,
        at=at,
        by=membership.caller.id,
        run_id=membership.run.id,
        action=action,
        subject=subject,
        details=details,
    )


def hash_secret(secret: str) -> str:
    """The digest that is stored instead of a token, a link or a session."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_token(session: Session, token: str, *, at: datetime) -> Caller:
    """The caller with this token; NotSignedIn if it is unknown, revoked or expired."""
    found = find_token(session, digest=hash_secret(token), at=at)
    if found is None:
        raise NotSignedIn("This token is unknown, was revoked, or has expired.")
    line, person = found
    scopes = frozenset(Scope(each) for each in line.scopes if each in set(Scope))
    owner = person.id if person else line.id
    return Caller(owner, scopes, person, line.run_id, line.id, line.used_at, line.expires_at)


def check_session(session: Session, secret: str, *, at: datetime) -> Caller:
    """The person with this browser session; NotSignedIn if it has ended."""
    person = find_session_person(session, digest=hash_secret(secret), at=at)
    if person is None:
        raise NotSignedIn("You are not signed in any more.")
    return Caller(person.id, ALL_SCOPES, person)


def has_use_to_record(caller: Caller, *, at: datetime) -> bool:
    """Whether to record the use of a token: once an hour shows that it is in use."""
    used_at = caller.token_used_at
    return caller.token_id is not None and (used_at is None or at - used_at > _TOKEN_USE_INTERVAL)


def get_membership_as(session: Session, caller: Caller, role: Role, *, run_id: str) -> Membership:
    """The caller's membership in a course run, with at least this role there."""
    membership = get_membership(session, caller, run_id=run_id)
    membership.need(role)
    return membership


def get_viewer_membership(
    session: Session, caller: Caller, *, run_id: str, enrolment_id: str
) -> tuple[Membership, bool]:
    """The membership of a caller who views a student's work, and whether it is their own.

    Raises
    ------
    NotFound
        If it is somebody else's work and the caller is not staff of the course run.
    """
    membership = get_membership(session, caller, run_id=run_id)
    is_own = membership.enrolment is not None and membership.enrolment.id == enrolment_id
    if not is_own and not membership.is_staff:
        raise NotFound
    caller.need(Scope.READ if is_own else Scope.GRADES_READ)
    return membership, is_own


def get_membership(session: Session, caller: Caller, *, run_id: str) -> Membership:
    """The caller's membership in a course run; NotFound if there is no such run or membership."""
    run = find_run(session, run_id=run_id)
    if run is None:
        raise NotFound
    if caller.person is None:
        if caller.run_id != run_id:
            raise NotFound
        # What a service may do depends on its scopes alone.
        return Membership(caller, run, Role.INSTRUCTOR, None)
    enrolment = find_enrolment(session, run_id=run_id, person_id=caller.person.id)
    if caller.is_operator:
        return Membership(caller, run, Role.INSTRUCTOR, enrolment)
    if enrolment is None:
        raise NotFound
    return Membership(caller, run, enrolment.role, enrolment)
