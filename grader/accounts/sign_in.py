"""Signing in: by a link that works once, or by a password; the session; form tokens."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from pwdlib import PasswordHash

from grader.accounts.callers import Caller, Membership, get_membership, hash_secret
from grader.domain.roles import Role, Scope
from grader.errors import (
    ErrorDetail,
    MalformedRequest,
    NotFound,
    NotSignedIn,
    RequestRefused,
)
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import MemberLine, list_enrolments
from grader.store.queries.credentials import (
    add_browser_session,
    add_sign_in_link,
    end_browser_session,
    take_sign_in_link,
)
from grader.store.queries.facts import RecordedTable
from grader.store.queries.people import (
    PersonLine,
    find_password_hash,
    get_person,
    set_password_hash,
)

LINK_LIFETIME = timedelta(days=7)
SESSION_LIFETIME = timedelta(days=14)
MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 200


@dataclass(frozen=True, slots=True)
class NewSession:
    """A browser's session with its secret, which only the browser may know."""

    person: PersonLine
    secret: str
    expires_at: datetime


def make_sign_in_link(
    session: Session,
    person: PersonLine,
    *,
    at: datetime,
    by: str,
    run_id: str | None = None,
    lasts: timedelta = LINK_LIFETIME,
) -> str:
    """Make a code that signs a person in once."""
    code = secrets.token_urlsafe(24)
    add_sign_in_link(
        session, digest=hash_secret(code), person_id=person.id, by=by, at=at, expires_at=at + lasts
    )
    add_audit_entry(session, at=at, by=by, run_id=run_id, action="link.made", subject=person.id)
    return code


def make_link_for(
    session: Session, membership: Membership, member: MemberLine, *, at: datetime
) -> str:
    """Make a code that signs in a student or an assistant of the course once.

    Raises
    ------
    RequestRefused
        If the person may do anything, in any course, that the caller may not.
    MissingScope
        If a token makes a link for staff and lacks the scopes of staff.
    """
    membership.need(Role.INSTRUCTOR)
    membership.caller.need(Scope.ROSTER)
    person = get_person(session, person_id=member.enrolment.person_id)
    if _outranks(session, membership.caller, person):
        raise RequestRefused(
            "You may make links for students and assistants of your own courses; an operator "
            "makes the others.",
            code="link.not_allowed",
        )
    if member.enrolment.role is not Role.STUDENT:
        # A session has every scope, so a link must not give what the token lacks.
        membership.caller.need(Scope.GRADES_READ)
        membership.caller.need(Scope.GRADES_WRITE)
    return make_sign_in_link(
        session, person, at=at, by=membership.caller.id, run_id=membership.run.id
    )


def _outranks(session: Session, caller: Caller, person: PersonLine) -> bool:
    """Whether a person may do anything, in any course, that the caller may not.

    A link signs in everywhere: an instructor who enrols somebody from another course must not be
    able to act as that person there.
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


def sign_in_by_link(session: Session, code: str, *, at: datetime) -> NewSession:
    """Use up a link; NotSignedIn if it is unknown, was used before or has expired."""
    person_id = take_sign_in_link(session, digest=hash_secret(code), at=at)
    if person_id is None:
        raise NotSignedIn("This link was used before or has expired. Ask for a new one.")
    return _open(session, get_person(session, person_id=person_id), at=at)


@cache
def _dummy_hash() -> str:
    """Checked if there is no password, so that both cases take equally long."""
    return PasswordHash.recommended().hash("nobody has this password")


def check_password(session: Session, *, login: str, password: str) -> str:
    """The id of the person with this login and password; slow on purpose.

    Raises
    ------
    NotSignedIn
        With the same message for a wrong login and a wrong password.
    """
    found = find_password_hash(session, login=login)
    is_right = PasswordHash.recommended().verify(
        password[:MAX_PASSWORD_LENGTH], found[1] if found else _dummy_hash()
    )
    if found is None or not is_right:
        raise NotSignedIn("The login or the password is wrong.")
    return found[0]


def open_session(session: Session, *, person_id: str, at: datetime) -> NewSession:
    """Sign in a person whose password was checked."""
    return _open(session, get_person(session, person_id=person_id), at=at)


def _open(session: Session, person: PersonLine, *, at: datetime) -> NewSession:
    signed_in = NewSession(person, secrets.token_urlsafe(32), at + SESSION_LIFETIME)
    add_browser_session(
        session,
        digest=hash_secret(signed_in.secret),
        person_id=person.id,
        at=at,
        expires_at=signed_in.expires_at,
    )
    return signed_in


def sign_out(session: Session, secret: str, *, at: datetime) -> None:
    """End a browser's session."""
    end_browser_session(session, digest=hash_secret(secret), at=at)


def set_password(
    session: Session, person: PersonLine, password: str | None, *, at: datetime, by: str
) -> None:
    """Set a password; None removes it."""
    if password is not None and not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        detail = f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters."
        raise MalformedRequest.of(ErrorDetail("password", "password.length", detail))
    hashed = PasswordHash.recommended().hash(password) if password is not None else None
    set_password_hash(session, person_id=person.id, password_hash=hashed)
    add_audit_entry(
        session, at=at, by=by, action="password.set", subject=person.id,
        changed={RecordedTable.PEOPLE: [person.id]},
    )  # fmt: skip


def make_csrf_token(session_secret: str) -> str:
    """The token in the forms of this session, so that no other site can send them."""
    return hmac.digest(session_secret.encode(), b"keyset form", "sha256").hex()


def is_csrf_token(session_secret: str, token: str) -> bool:
    """Whether a form comes from a page of this session."""
    return hmac.compare_digest(make_csrf_token(session_secret).encode(), token.encode())
