"""People: their accounts, made, changed and ended by operators."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import datetime

from grader.errors import ErrorDetail, MalformedRequest, NotFound, RequestRefused
from grader.store.database import Session, lock
from grader.store.queries import people
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import end_all_credentials
from grader.store.queries.people import PersonLine
from grader.store.queries.rosters import change_people, list_logins

MAX_LOGIN_LENGTH = 100
MAX_NAME_LENGTH = 200
MAX_EMAIL_LENGTH = 200

# What looks like an identifier of ours could be taken for the place of somebody else.
_IDENTIFIER = re.compile(r"[a-z]{2,4}_[0-9a-z]{26}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
# Signs that turn the direction of the text around them make one name look like another.
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def normalize_text(text: str) -> str:
    """Text in one of its several spellings, so that what looks alike is alike."""
    return unicodedata.normalize("NFC", text).strip()


def describe_login_problem(login: str) -> str:
    """What is wrong with a login, as a sentence; empty where it can be used."""
    if not 1 <= len(login) <= MAX_LOGIN_LENGTH:
        return f"A login has 1 to {MAX_LOGIN_LENGTH} characters."
    if not login.isprintable() or any(c.isspace() or c in "/\\" for c in login):
        return "A login has no spaces, slashes or invisible characters."
    if login in (".", "..") or _IDENTIFIER.fullmatch(login):
        return "This cannot be a login, because it could be taken for something else."
    return ""


def describe_name_problem(name: str) -> str:
    """What is wrong with a name, as a sentence; empty where it can be used."""
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        return f"A name has 1 to {MAX_NAME_LENGTH} characters."
    if not is_plain(name):
        return "A name is one line of text without control characters."
    return ""


def describe_email_problem(email: str) -> str:
    """What is wrong with an address, as a sentence; empty where it can be used."""
    if len(email) > MAX_EMAIL_LENGTH or not email.isprintable() or not _EMAIL.fullmatch(email):
        return "This is no email address; one looks like ada@example.edu."
    return ""


def is_plain(text: str) -> bool:
    """Whether text is one line without signs that control, turn around or are none at all.

    Joiners are no such signs: names in several scripts need them.
    """
    return not any(
        c in _DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text
    )


def make_person(
    session: Session,
    *,
    login: str,
    name: str,
    email: str | None,
    is_operator: bool,
    at: datetime,
    by: str,
) -> PersonLine:
    """Make an account.

    Raises
    ------
    MalformedRequest
        With everything that cannot be used.
    Refused
        Where the login is taken, or differs from a taken one only in capital letters.
    """
    login, name, email = (
        normalize_text(login),
        normalize_text(name),
        normalize_text(email or "") or None,
    )
    _check({"login": describe_login_problem(login)} | _problems(name, email))
    # Every change of accounts ends in the audit chain. Taking its turn first makes two that want
    # the same login wait for each other.
    lock(session, ["audit"])
    taken = list_taken_logins(session).get(login.casefold())
    if taken is not None:
        raise RequestRefused(f"The login {taken} is taken.", code="person.exists")
    person = people.add_person(
        session, login=login, name=name, email=email, is_operator=is_operator, at=at
    )
    add_audit_entry(
        session, at=at, by=by, action="person.made", subject=person.id,
        details={"is_operator": is_operator},
    )  # fmt: skip
    return person


def list_taken_logins(session: Session) -> dict[str, str]:
    """All logins, also those that have ended, by their spelling in small letters."""
    return {login.casefold(): login for login in list_logins(session)}


def change_person(
    session: Session,
    person: PersonLine,
    *,
    name: str | None = None,
    email: str | None = None,
    is_operator: bool | None = None,
    at: datetime,
    by: str,
) -> PersonLine:
    """Change what is said, and return the person as it is now.

    What is None stays; an empty address takes the address away.
    """
    name = person.name if name is None else normalize_text(name)
    email = person.email if email is None else normalize_text(email) or None
    is_operator = person.is_operator if is_operator is None else is_operator
    _check(_problems(name, email))
    changed = replace(person, name=name, email=email, is_operator=is_operator)
    fields = [
        each
        for each in ("name", "email", "is_operator")
        if getattr(changed, each) != getattr(person, each)
    ]
    if fields:
        change_people(session, [changed])
        people.change_person(session, person_id=person.id, is_operator=is_operator)
        details = {"changed": fields, "is_operator": is_operator}
        add_audit_entry(
            session, at=at, by=by, action="person.changed", subject=person.id, details=details
        )
    return changed


def end_account(session: Session, person: PersonLine, *, at: datetime, by: str) -> None:
    """End an account with every session, token and link; what the person did stays."""
    people.change_person(session, person_id=person.id, ended_at=at)
    end_all_credentials(session, person_id=person.id, at=at)
    add_audit_entry(session, at=at, by=by, action="person.ended", subject=person.id)


def get_by_login(session: Session, *, login: str) -> PersonLine:
    """The person of this login; NotFound where there is none, or the account has ended."""
    login = normalize_text(login)
    if describe_login_problem(login):
        raise NotFound("There is nobody with this login.")
    person = people.find_person(session, login=login)
    if person is None:
        raise NotFound(f"There is nobody with the login {login}.")
    return person


def _problems(name: str, email: str | None) -> dict[str, str]:
    return {
        "name": describe_name_problem(name),
        "email": describe_email_problem(email) if email else "",
    }


def _check(problems: dict[str, str]) -> None:
    faults = tuple(
        ErrorDetail(f"#/{field}", f"{field}.invalid", problem)
        for field, problem in problems.items()
        if problem
    )
    if faults:
        raise MalformedRequest(faults[0].detail, code=faults[0].code, faults=faults)
