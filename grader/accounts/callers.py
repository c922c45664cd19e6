"""Who calls, and what the caller may do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.errors import MissingRole, MissingScope, NotFound, NotSignedIn
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine, RunLine, find_enrolment, find_run
from grader.store.queries.credentials import find_session_person, find_token
from grader.store.queries.people import PersonLine

#: So often the use of a token is noted.
_TOKEN_USE_INTERVAL = timedelta(hours=1)
#: What every token begins with, so that one that leaks is recognised.
TOKEN_PREFIX = "keyset_"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised: a person, or a service of one course run."""

    id: str
    """Who did it, wherever that is noted: a person's id, or a service token's."""
    scopes: frozenset[Scope]
    person: PersonLine | None = None
    run_id: str | None = None
    """For a service, the course run that it belongs to."""
    token_id: str | None = None
    token_used_at: datetime | None = None
    """When the token was last seen to be used, within an hour or so."""
    token_expires_at: datetime | None = None

    @property
    def is_operator(self) -> bool:
        """Whether the caller operates the service; a token of an operator does, too."""
        return self.person is not None and self.person.is_operator

    def need(self, scope: Scope) -> None:
        """Refuse a caller whose token has not this scope."""
        if scope not in self.scopes:
            raise MissingScope(scope.value)

    def need_person(self) -> PersonLine:
        """The person; a service is none and is refused."""
        if self.person is None:
            raise MissingRole("Only a person can do this; a service has nothing of its own here.")
        return self.person


@dataclass(frozen=True, slots=True)
class Membership:
    """A caller in a course run, with the role that holds there."""

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
        """The caller's own place as somebody who answers."""
        if self.enrolment is None:
            raise MissingRole("Only somebody who takes part in this course can do this.")
        return self.enrolment


def hash_secret(secret: str) -> str:
    """What is stored instead of a token, a link or a session."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_token(session: Session, token: str, *, at: datetime) -> Caller:
    """The caller who holds this token.

    Raises
    ------
    NotSignedIn
        Where it is unknown, revoked or has expired.
    """
    found = find_token(session, digest=hash_secret(token), at=at)
    if found is None:
        raise NotSignedIn("This token is not known, was revoked, or has expired.")
    line, person = found
    scopes = frozenset(Scope(each) for each in line.scopes if each in set(Scope))
    owner = person.id if person else line.id
    return Caller(owner, scopes, person, line.run_id, line.id, line.used_at, line.expires_at)


def check_session(session: Session, secret: str, *, at: datetime) -> Caller:
    """The person whose browser holds this session; NotSignedIn where it has ended."""
    person = find_session_person(session, digest=hash_secret(secret), at=at)
    if person is None:
        raise NotSignedIn("You are not signed in any more.")
    return Caller(person.id, ALL_SCOPES, person)


def has_use_to_record(caller: Caller, *, at: datetime) -> bool:
    """Whether the use of a token is worth a note: once an hour is enough to see it is alive."""
    used_at = caller.token_used_at
    return caller.token_id is not None and (used_at is None or at - used_at > _TOKEN_USE_INTERVAL)


def get_membership_as(session: Session, caller: Caller, role: Role, *, run_id: str) -> Membership:
    """The caller in a course run, where the caller has at least this role there."""
    membership = get_membership(session, caller, run_id=run_id)
    membership.need(role)
    return membership


def get_viewer_membership(
    session: Session, caller: Caller, *, run_id: str, enrolment_id: str
) -> tuple[Membership, bool]:
    """The caller at something of a student's, and whether it is the caller's own.

    Raises
    ------
    NotFound
        Where it is somebody else's, and the caller is no staff of its course run.
    """
    membership = get_membership(session, caller, run_id=run_id)
    is_own = membership.enrolment is not None and membership.enrolment.id == enrolment_id
    if not is_own and not membership.is_staff:
        raise NotFound
    caller.need(Scope.READ if is_own else Scope.GRADES_READ)
    return membership, is_own


def get_membership(session: Session, caller: Caller, *, run_id: str) -> Membership:
    """The caller in a course run.

    Raises
    ------
    NotFound
        Where there is no such run, or the caller has no place in it.
    """
    run = find_run(session, run_id=run_id)
    if run is None:
        raise NotFound
    if caller.person is None:
        if caller.run_id != run_id:
            raise NotFound
        # What a service may do is said by its scopes alone.
        return Membership(caller, run, Role.INSTRUCTOR, None)
    enrolment = find_enrolment(session, run_id=run_id, person_id=caller.person.id)
    if caller.is_operator:
        return Membership(caller, run, Role.INSTRUCTOR, enrolment)
    if enrolment is None:
        raise NotFound
    return Membership(caller, run, enrolment.role, enrolment)
