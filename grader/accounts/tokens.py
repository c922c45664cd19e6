"""Tokens: made once, shown once, revoked at once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from grader.accounts.callers import TOKEN_PREFIX, Caller, Place, digest
from grader.domain.roles import Role, Scope
from grader.errors import Fault, MalformedRequest
from grader.store.database import Session
from grader.store.ids import new_id
from grader.store.queries.audit import add_audit
from grader.store.queries.people import PersonLine
from grader.store.queries.tokens import TokenLine, add_token, revoke_token

MOST_DAYS = 400


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, with what only its owner may know."""

    line: TokenLine
    secret: str


def make_personal_token(
    session: Session,
    person: PersonLine,
    *,
    label: str,
    scopes: Iterable[Scope],
    days: int,
    at: datetime,
    by: str,
) -> NewToken:
    """Make a token of a person."""
    token = _new(label=label, scopes=scopes, days=days, at=at, person_id=person.id)
    return _add(session, token, at=at, by=by)


def make_own_token(
    session: Session, caller: Caller, *, label: str, scopes: Iterable[Scope], days: int,
    at: datetime,
) -> NewToken:  # fmt: skip
    """Make a token for oneself, that may no more and lasts no longer than what it is made with."""
    person = caller.need_person()
    wanted = _within(caller, scopes)
    token = _new(label=label, scopes=wanted, days=days, at=at, person_id=person.id)
    return _add(session, _no_longer(token, caller), at=at, by=caller.id)


def make_service_token(
    session: Session, place: Place, *, label: str, scopes: Iterable[Scope], days: int, at: datetime
) -> NewToken:
    """Make a token for a service in a course run, that may no more than what it is made with."""
    place.need(Role.INSTRUCTOR)
    wanted = _within(place.caller, scopes)
    token = _new(label=label, scopes=wanted, days=days, at=at, run_id=place.run.id)
    return _add(session, _no_longer(token, place.caller), at=at, by=place.caller.id)


def _within(caller: Caller, scopes: Iterable[Scope]) -> frozenset[Scope]:
    wanted = frozenset(scopes)
    for scope in sorted(wanted):
        caller.need(scope)
    return wanted


def _no_longer(token: NewToken, caller: Caller) -> NewToken:
    """The token, ending when the caller's own does at the latest; else none would ever end."""
    end = caller.token_expires_at
    if end is None or token.line.expires_at <= end:
        return token
    return replace(token, line=replace(token.line, expires_at=end))


def _add(session: Session, token: NewToken, *, at: datetime, by: str) -> NewToken:
    line = token.line
    add_token(session, line, digest=digest(token.secret), by=by)
    add_audit(
        session,
        at=at,
        by=by,
        run_id=line.run_id,
        action="token.made",
        subject=line.id,
        details={"person": line.person_id, "scopes": list(line.scopes)},
    )
    return token


def _new(
    *,
    label: str,
    scopes: Iterable[Scope],
    days: int,
    at: datetime,
    person_id: str | None = None,
    run_id: str | None = None,
) -> NewToken:
    if not 1 <= days <= MOST_DAYS:
        fault = Fault("#/days", "days.range", f"A token lasts from 1 to {MOST_DAYS} days.")
        raise MalformedRequest(fault.detail, code="token.invalid", faults=(fault,))
    names = tuple(sorted(scope.value for scope in scopes))
    if not names:
        fault = Fault("#/scopes", "scopes.empty", "A token needs at least one scope.")
        raise MalformedRequest(fault.detail, code="token.invalid", faults=(fault,))
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    line = TokenLine(
        id=new_id("tok"),
        hint=secret[-4:],
        label=label,
        person_id=person_id,
        run_id=run_id,
        scopes=names,
        made_at=at,
        expires_at=at + timedelta(days=days),
        revoked_at=None,
        used_at=None,
    )
    return NewToken(line, secret)


def revoke_own_token(session: Session, caller: Caller, *, token_id: str, at: datetime) -> None:
    """Revoke one of the caller's own tokens."""
    person = caller.need_person()
    revoke_token(session, token_id=token_id, person_id=person.id, at=at)
    add_audit(session, at=at, by=caller.id, action="token.revoked", subject=token_id)


def revoke_service_token(session: Session, place: Place, *, token_id: str, at: datetime) -> None:
    """Revoke a token of a course run."""
    place.need(Role.INSTRUCTOR)
    revoke_token(session, token_id=token_id, run_id=place.run.id, at=at)
    add_audit(
        session, at=at, by=place.caller.id, run_id=place.run.id, action="token.revoked",
        subject=token_id,
    )  # fmt: skip
