"""The caller of the service, and what the caller may do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.errors import MissingRole, MissingScope, NotFound, NotSignedIn, RequestRefused
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import (
    EnrolmentLine,
    RunLine,
    find_enrolments,
    find_place,
    find_run,
)
from grader.store.queries.credentials import ValidToken, find_browser_sessions, find_tokens
from grader.store.queries.facts import ChangedRows
from grader.store.queries.people import PersonLine

#: How often the use of a token is recorded.
_TOKEN_USE_INTERVAL = timedelta(hours=1)
#: The prefix of every token, so that a leaked one is recognised.
TOKEN_PREFIX = "keyset_"


class Caller(NamedTuple):
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
    maker_id: str | None = None
    """For a service, the person who made its token, also by way of another token."""

    @property
    def responsible_id(self) -> str | None:
        """The person who answers for the call; None for a service made at the command line."""
        return self.person.id if self.person else self.maker_id

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


class Membership(NamedTuple):
    """A caller in a course run, with the caller's role there."""

    caller: Caller
    run: RunLine
    role: Role
    enrolment: EnrolmentLine | None
    own_enrolment_id: str | None = None
    """The id of the enrolment of the person who answers for the caller, also after leaving."""

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

    def owns(self, enrolment_id: str | None) -> bool:
        """Whether an enrolment is that of the caller, or of the person who made the token."""
        own = self.enrolment.id if self.enrolment else self.own_enrolment_id
        return enrolment_id is not None and own == enrolment_id

    def refuse_own_work(self, enrolment_id: str) -> None:
        """Refuse a decision about the work of the caller, or of whoever made the token."""
        if self.owns(enrolment_id):
            raise RequestRefused("Nobody decides about their own work.", code="own.work")


def record_action(
    session: Session,
    membership: Membership,
    *,
    at: datetime,
    action: str,
    subject: str,
    details: dict[str, Any] | None = None,
    changed: ChangedRows | None = None,
) -> None:
    """Record in the audit chain what the caller did in the course run, and the changed rows."""
    add_audit_entry(
        session,
        at=at,
        by=membership.caller.id,
        run_id=membership.run.id,
        action=action,
        subject=subject,
        details=details,
        changed=changed,
    )


def hash_secret(secret: str) -> str:
    """The digest that is stored instead of a token, a link or a session."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Credential(NamedTuple):
    """What a request brings to show who sends it: a token, or the session of a browser."""

    digest: str
    is_token: bool

    @classmethod
    def of_token(cls, token: str) -> Credential:
        """The credential of a program."""
        return cls(hash_secret(token), is_token=True)

    @classmethod
    def of_session(cls, secret: str) -> Credential:
        """The credential of a browser."""
        return cls(hash_secret(secret), is_token=False)


def identify(
    session: Session, sent: Sequence[tuple[Credential, datetime]]
) -> list[Caller | NotSignedIn]:
    """Who sends requests, each with its credential at this time.

    An unknown, revoked or expired credential gives the error.
    """
    tokens = {credential.digest for credential, _ in sent if credential.is_token}
    others = {credential.digest for credential, _ in sent if not credential.is_token}
    found = find_tokens(session, digests=tokens) if tokens else {}
    browsers = find_browser_sessions(session, digests=others) if others else {}
    callers: list[Caller | NotSignedIn] = []
    for credential, at in sent:
        token, browser = found.get(credential.digest), browsers.get(credential.digest)
        if token is not None and token.expires_at > at:
            callers.append(_to_caller(token))
        elif browser is not None and browser.expires_at > at:
            callers.append(Caller(browser.person.id, ALL_SCOPES, browser.person))
        elif credential.is_token:
            callers.append(NotSignedIn("This token is unknown, was revoked, or has expired."))
        else:
            callers.append(NotSignedIn("You are not signed in any more."))
    return callers


_SCOPES = {each.value: each for each in Scope}


def _to_caller(token: ValidToken) -> Caller:
    # Scopes that this version does not know give no right.
    scopes = frozenset(_SCOPES[each] for each in token.scopes if each in _SCOPES)
    return Caller(
        id=token.person.id if token.person else token.id,
        scopes=scopes,
        person=token.person,
        run_id=token.run_id,
        token_id=token.id,
        token_used_at=token.used_at,
        token_expires_at=token.expires_at,
        maker_id=token.maker_id,
    )


def check_credential(session: Session, credential: Credential, *, at: datetime) -> Caller:
    """The caller with this credential; NotSignedIn if it is unknown, revoked or expired."""
    (found,) = identify(session, [(credential, at)])
    if isinstance(found, NotSignedIn):
        try:
            raise found
        finally:
            # An error knows the frames that it went through. If one of them knew the error, both
            # would stay in memory until the garbage collector looks for them, with the request.
            del found
    return found


def check_token(session: Session, token: str, *, at: datetime) -> Caller:
    """The caller with this token; NotSignedIn if it is unknown, revoked or expired."""
    return check_credential(session, Credential.of_token(token), at=at)


def check_session(session: Session, secret: str, *, at: datetime) -> Caller:
    """The person with this browser session; NotSignedIn if it has ended."""
    return check_credential(session, Credential.of_session(secret), at=at)


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
    place = find_place(session, run_id=run_id, person_id=caller.responsible_id)
    membership = None
    if place is not None:
        run, own, has_left = place
        membership = _make_membership(caller, run, own, has_left=has_left)
    if membership is None:
        raise NotFound
    return membership


def find_memberships(
    session: Session, wanted: Sequence[tuple[Caller, str]]
) -> list[Membership | None]:
    """The memberships of callers in course runs; None if there is no such run or membership."""
    runs = {run_id: find_run(session, run_id=run_id) for run_id in {each for _, each in wanted}}
    places = {
        (run_id, caller.responsible_id)
        for caller, run_id in wanted
        if caller.responsible_id is not None and runs[run_id] is not None
    }
    enrolments = find_enrolments(session, places=places) if places else {}
    found: list[Membership | None] = []
    for caller, run_id in wanted:
        run = runs[run_id]
        own = enrolments.get((run_id, caller.responsible_id or ""))
        found.append(_make_membership(caller, run, own) if run else None)
    return found


def _make_membership(
    caller: Caller, run: RunLine, own: EnrolmentLine | None, *, has_left: bool = False
) -> Membership | None:
    """The membership of a caller for whom the person of the enrolment `own` answers."""
    own_id = own.id if own else None
    if caller.person is None:
        # What a service may do depends on its scopes alone.
        is_here = caller.run_id == run.id
        return Membership(caller, run, Role.INSTRUCTOR, None, own_id) if is_here else None
    enrolment = None if has_left else own
    if caller.is_operator:
        return Membership(caller, run, Role.INSTRUCTOR, enrolment, own_id)
    return Membership(caller, run, enrolment.role, enrolment, own_id) if enrolment else None
