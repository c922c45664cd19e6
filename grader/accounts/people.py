"""People's accounts: made, changed and ended by operators."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

from grader.errors import ErrorDetail, MalformedRequest, NotFound, RequestRefused
from grader.store.database import Session, lock
from grader.store.queries import people
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import end_all_credentials
from grader.store.queries.facts import RecordedTable
from grader.store.queries.people import PersonLine
from grader.store.queries.rosters import change_people, list_logins

MAX_LOGIN_LENGTH = 100
MAX_NAME_LENGTH = 200
MAX_EMAIL_LENGTH = 200
MAX_SECTION_LENGTH = 100

# A login that looks like an id could be mistaken for somebody else's enrolment.
_IDENTIFIER = re.compile(r"[a-z]{2,4}_[0-9a-z]{26}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
# Characters that change the direction of text can make one name look like another.
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def normalize_text(text: str) -> str:
    """The text in Unicode's normal form, so that equal-looking texts are equal."""
    return unicodedata.normalize("NFC", text).strip()


def is_plain(text: str) -> bool:
    """Whether text is one line without control characters, direction marks or lone surrogates.

    Joiners are allowed: names in several scripts need them.
    """
    return not any(
        c in _DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text
    )


def _describe_login_problem(login: str) -> str:
    if not 1 <= len(login) <= MAX_LOGIN_LENGTH:
        return f"A login has 1 to {MAX_LOGIN_LENGTH} characters."
    if not login.isprintable() or any(c.isspace() or c in "/\\" for c in login):
        return "A login has no spaces, slashes or invisible characters."
    if login in (".", "..") or _IDENTIFIER.fullmatch(login):
        return "This cannot be a login, because it could be mistaken for something else."
    return ""


def _describe_name_problem(name: str) -> str:
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        return f"A name has 1 to {MAX_NAME_LENGTH} characters."
    return "" if is_plain(name) else "A name is one line of text without control characters."


def _describe_email_problem(email: str) -> str:
    if len(email) > MAX_EMAIL_LENGTH or not email.isprintable() or not _EMAIL.fullmatch(email):
        return "This is not an email address; one looks like ada@example.edu."
    return ""


def _describe_section_problem(section: str) -> str:
    if len(section) > MAX_SECTION_LENGTH or not is_plain(section):
        return f"A section is one line of at most {MAX_SECTION_LENGTH} characters."
    return ""


_CHECKS = {
    "login": _describe_login_problem,
    "name": _describe_name_problem,
    "email": _describe_email_problem,
    "section": _describe_section_problem,
}


def check_fields(**values: str | None) -> list[ErrorDetail]:
    """What is wrong with a login, a name, an email and a section; None is not checked."""
    return [
        ErrorDetail(field, f"{field}.invalid", problem)
        for field, value in values.items()
        if value is not None and (problem := _CHECKS[field](value))
    ]


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
        With every field that cannot be used.
    RequestRefused
        If the login is taken, or differs from a taken one only in capital letters.
    """
    login, name = normalize_text(login), normalize_text(name)
    email = normalize_text(email or "") or None
    if faults := check_fields(login=login, name=name, email=email):
        raise MalformedRequest.of(*faults)
    # Every change of accounts ends in the audit chain. Locking the chain first makes two requests
    # for the same login wait for each other.
    lock(session, ["audit"])
    taken = list_taken_logins(session).get(login.casefold())
    if taken is not None:
        raise RequestRefused(f"The login {taken} is taken.", code="person.exists")
    person = people.add_person(
        session, login=login, name=name, email=email, is_operator=is_operator, at=at
    )
    add_audit_entry(
        session, at=at, by=by, action="person.made", subject=person.id,
        details={"is_operator": is_operator}, changed={RecordedTable.PEOPLE: [person.id]},
    )  # fmt: skip
    return person


def list_taken_logins(session: Session) -> dict[str, str]:
    """All logins, also those of ended accounts, by their lower-case spelling."""
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
    """Change an account and return the person as they are now.

    None leaves a field as it is; an empty email removes the address.
    """
    name = person.name if name is None else normalize_text(name)
    email = person.email if email is None else normalize_text(email) or None
    is_operator = person.is_operator if is_operator is None else is_operator
    if faults := check_fields(name=name, email=email):
        raise MalformedRequest.of(*faults)
    changed = person._replace(name=name, email=email, is_operator=is_operator)
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
            session, at=at, by=by, action="person.changed", subject=person.id, details=details,
            changed={RecordedTable.PEOPLE: [person.id]},
        )  # fmt: skip
    return changed


def end_account(session: Session, person: PersonLine, *, at: datetime, by: str) -> None:
    """End an account with every session, token and link; the person's work stays."""
    people.change_person(session, person_id=person.id, ended_at=at)
    tokens = end_all_credentials(session, person_id=person.id, at=at)
    add_audit_entry(
        session, at=at, by=by, action="person.ended", subject=person.id,
        changed={RecordedTable.PEOPLE: [person.id], RecordedTable.TOKENS: tokens},
    )  # fmt: skip


def get_by_login(session: Session, *, login: str) -> PersonLine:
    """The person with this login; NotFound if there is none or the account has ended."""
    login = normalize_text(login)
    if check_fields(login=login):
        raise NotFound("There is nobody with this login.")
    person = people.find_person(session, login=login)
    if person is None:
        raise NotFound(f"There is nobody with the login {login}.")
    return person
