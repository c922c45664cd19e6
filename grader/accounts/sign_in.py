"""Signing in: by a link that works once, or by a password."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from pwdlib import PasswordHash

from grader.accounts.callers import hash_secret
from grader.errors import ErrorDetail, MalformedRequest, NotSignedIn
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import (
    add_browser_session,
    add_sign_in_link,
    end_browser_session,
    take_sign_in_link,
)
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
    """A browser's session, with what only the browser may know."""

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


def sign_in_by_link(session: Session, code: str, *, at: datetime) -> NewSession:
    """Use up a link.

    Raises
    ------
    NotSignedIn
        Where it was used before, has expired or never was.
    """
    person_id = take_sign_in_link(session, digest=hash_secret(code), at=at)
    if person_id is None:
        raise NotSignedIn("This link was used before or has expired. Ask for a new one.")
    return _open(session, get_person(session, person_id=person_id), at=at)


@cache
def _dummy_hash() -> str:
    """Checked where there is no password, so that both take equally long."""
    return PasswordHash.recommended().hash("nobody has this password")


def check_password(session: Session, *, login: str, password: str) -> str:
    """The id of the person with this login and password; it takes a while on purpose.

    Raises
    ------
    NotSignedIn
        In the same words whether it is the login or the password that is wrong.
    """
    found = find_password_hash(session, login=login)
    is_right = PasswordHash.recommended().verify(
        password[:MAX_PASSWORD_LENGTH], found[1] if found else _dummy_hash()
    )
    if found is None or not is_right:
        raise NotSignedIn("This login and this password do not go together.")
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
    """Set a password, or take it away with None."""
    if password is not None and not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        fault = ErrorDetail(
            "#/password",
            "password.length",
            f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters.",
        )
        raise MalformedRequest(fault.detail, code="password.length", faults=(fault,))
    hashed = PasswordHash.recommended().hash(password) if password is not None else None
    set_password_hash(session, person_id=person.id, password_hash=hashed)
    add_audit_entry(session, at=at, by=by, action="password.set", subject=person.id)


def make_csrf_token(session_secret: str) -> str:
    """What a form of this session carries, so that no other site can send it."""
    return hmac.digest(session_secret.encode(), b"keyset form", "sha256").hex()


def is_csrf_token(session_secret: str, token: str) -> bool:
    """Whether a form comes from a page of this session."""
    return hmac.compare_digest(make_csrf_token(session_secret).encode(), token.encode())
