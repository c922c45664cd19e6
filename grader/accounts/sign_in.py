"""Signing in: by a link that works once, or by a password; the session; form tokens.

Passwords are tried under a limit for each login, which all processes share. A login that does not
exist has the same limit, so that nobody learns which ones do.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from pwdlib import PasswordHash

from grader.accounts.callers import Caller, Membership, get_membership, hash_secret
from grader.accounts.people import check_fields, normalize_text
from grader.domain.roles import Role, Scope
from grader.errors import (
    ErrorDetail,
    MalformedRequest,
    NotFound,
    NotSignedIn,
    RequestRefused,
    TooManyRequests,
)
from grader.store.database import Session, lock
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import MemberLine, list_enrolments
from grader.store.queries.credentials import (
    FailedSignIns,
    add_browser_session,
    add_sign_in_link,
    delete_failed_sign_ins,
    delete_old_failed_sign_ins,
    end_browser_session,
    end_browser_sessions,
    find_failed_sign_ins,
    put_failed_sign_ins,
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
#: The time for which wrong passwords for a login are counted.
PASSWORD_WINDOW = timedelta(minutes=15)


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


def count_password_try(session: Session, login: str, *, at: datetime, most: int) -> None:
    """Count a password that is about to be tried for a login; a right one is forgotten again.

    It is counted before it is checked, or any number could be tried at the same time.

    Raises
    ------
    TooManyRequests
        If `most` were wrong within the last minutes; then the password must not be checked.
    """
    digest = _hash_login(login)
    lock(session, [f"password {digest}"])
    failed = find_failed_sign_ins(session, login_digest=digest)
    if failed is None or failed.began_at + PASSWORD_WINDOW <= at:
        failed = FailedSignIns(0, at)
    if failed.tries >= most:
        raise _make_too_many_passwords_error(failed.began_at + PASSWORD_WINDOW - at)
    put_failed_sign_ins(
        session, login_digest=digest, failed=failed._replace(tries=failed.tries + 1)
    )


def _hash_login(login: str) -> str:
    """The digest of a login, under which its wrong passwords are counted, however it is spelt."""
    spelt = normalize_text(login).casefold()
    # A login that was sent as JSON may have half a character in it.
    return hashlib.sha256(spelt.encode("utf-8", "surrogatepass")).hexdigest()


def _make_too_many_passwords_error(wait: timedelta) -> TooManyRequests:
    minutes = max(1, math.ceil(wait.total_seconds() / 60))
    unit = "minute" if minutes == 1 else "minutes"
    return TooManyRequests(
        f"There were too many wrong passwords for this login. Try again in {minutes} {unit}, or "
        "sign in with a link, which works at once.",
        retry_after_seconds=max(1, math.ceil(wait.total_seconds())),
    )


def delete_old_password_tries(session: Session, *, at: datetime) -> None:
    """Delete counts of wrong passwords that limit nothing any more."""
    delete_old_failed_sign_ins(session, before=at - PASSWORD_WINDOW)


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """The hash of a person's password."""

    person_id: str
    password_hash: str


def find_password(session: Session, *, login: str) -> StoredPassword | None:
    """The stored password of the person with this login."""
    login = normalize_text(login)
    found = None if check_fields(login=login) else find_password_hash(session, login=login)
    return StoredPassword(*found) if found else None


def verify_password(stored: StoredPassword | None, password: str) -> str:
    """The id of the person whose password it is; slow on purpose, also if there is none.

    Raises
    ------
    NotSignedIn
        With the same message for a wrong login and a wrong password.
    """
    sent = password[:MAX_PASSWORD_LENGTH].encode("utf-8", "surrogatepass")
    hashed = stored.password_hash if stored else _dummy_hash()
    is_right = PasswordHash.recommended().verify(sent, hashed)
    if stored is None or not is_right:
        raise NotSignedIn("The login or the password is wrong.")
    return stored.person_id


def open_session(session: Session, *, person_id: str, at: datetime) -> NewSession:
    """Sign in a person whose password was checked."""
    person = get_person(session, person_id=person_id)
    delete_failed_sign_ins(session, login_digest=_hash_login(person.login))
    return _open(session, person, at=at)


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


def sign_out_everywhere(session: Session, person: PersonLine, *, at: datetime) -> None:
    """End every browser session of a person, as the person wishes."""
    end_browser_sessions(session, person_id=person.id, at=at)
    add_audit_entry(session, at=at, by=person.id, action="sessions.ended", subject=person.id)


def hash_password(password: str) -> str:
    """The hash by which a new password is stored; slow on purpose.

    Raises
    ------
    MalformedRequest
        If the password is too short or too long.
    """
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        detail = f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters."
        raise MalformedRequest.of(ErrorDetail("password", "password.length", detail))
    return PasswordHash.recommended().hash(password.encode("utf-8", "surrogatepass"))


def set_password(
    session: Session, person: PersonLine, hashed: str | None, *, at: datetime, by: str
) -> None:
    """Set a password by its hash, and end the person's sessions; None removes the password."""
    set_password_hash(session, person_id=person.id, password_hash=hashed)
    delete_failed_sign_ins(session, login_digest=_hash_login(person.login))
    # Whoever knew the old password may have signed in with it.
    end_browser_sessions(session, person_id=person.id, at=at)
    add_audit_entry(
        session, at=at, by=by, action="password.set", subject=person.id,
        changed={RecordedTable.PEOPLE: [person.id]},
    )  # fmt: skip


def change_own_password(
    session: Session, person: PersonLine, hashed: str, *, at: datetime
) -> NewSession:
    """Set one's own password; returns a new session for the browser that did it."""
    set_password(session, person, hashed, at=at, by=person.id)
    return _open(session, person, at=at)


def make_csrf_token(session_secret: str) -> str:
    """The token in the forms of this session, so that no other site can send them."""
    return hmac.digest(session_secret.encode(), b"keyset form", "sha256").hex()


def is_csrf_token(session_secret: str, token: str) -> bool:
    """Whether a form comes from a page of this session."""
    return hmac.compare_digest(make_csrf_token(session_secret).encode(), token.encode())
