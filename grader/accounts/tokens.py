"""Tokens for programs: made for a person or a course run, shown once, revoked at any time."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from grader.accounts.callers import TOKEN_PREFIX, Caller, Membership, hash_secret, record_action
from grader.domain.roles import Role, Scope
from grader.errors import ErrorDetail, MalformedRequest
from grader.store.database import Session
from grader.store.ids import make_id
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import TokenLine, add_token, revoke_token
from grader.store.queries.people import PersonLine

MAX_DAYS = 400


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its secret, which only its owner may know."""

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
    """Make a token for a person."""
    token = _make_token(label=label, scopes=scopes, days=days, at=at, person_id=person.id)
    return _add(session, token, at=at, by=by)


def make_own_token(
    session: Session, caller: Caller, *, label: str, scopes: Iterable[Scope], days: int,
    at: datetime,
) -> NewToken:  # fmt: skip
    """Make a token for the caller, with no more scopes and no more time than the caller has."""
    person = caller.need_person()
    scopes = _check_scopes(caller, scopes)
    token = _make_token(label=label, scopes=scopes, days=days, at=at, person_id=person.id)
    return _add(session, _limit_lifetime(token, caller), at=at, by=caller.id)


def make_service_token(
    session: Session,
    membership: Membership,
    *,
    label: str,
    scopes: Iterable[Scope],
    days: int,
    at: datetime,
) -> NewToken:
    """Make a token for a service in a course run, limited as one for the caller."""
    membership.need(Role.INSTRUCTOR)
    scopes = _check_scopes(membership.caller, scopes)
    token = _make_token(label=label, scopes=scopes, days=days, at=at, run_id=membership.run.id)
    return _add(session, _limit_lifetime(token, membership.caller), at=at, by=membership.caller.id)


def _check_scopes(caller: Caller, scopes: Iterable[Scope]) -> frozenset[Scope]:
    scopes = frozenset(scopes)
    for scope in sorted(scopes):
        caller.need(scope)
    return scopes


def _limit_lifetime(token: NewToken, caller: Caller) -> NewToken:
    """The token, which ends no later than the caller's own; or tokens could renew themselves."""
    end = caller.token_expires_at
    if end is None or token.line.expires_at <= end:
        return token
    return replace(token, line=replace(token.line, expires_at=end))


def _add(session: Session, token: NewToken, *, at: datetime, by: str) -> NewToken:
    line = token.line
    add_token(session, line, digest=hash_secret(token.secret), by=by)
    add_audit_entry(
        session,
        at=at,
        by=by,
        run_id=line.run_id,
        action="token.made",
        subject=line.id,
        details={"person": line.person_id, "scopes": list(line.scopes)},
    )
    return token


def _make_token(
    *,
    label: str,
    scopes: Iterable[Scope],
    days: int,
    at: datetime,
    person_id: str | None = None,
    run_id: str | None = None,
) -> NewToken:
    if not 1 <= days <= MAX_DAYS:
        fault = ErrorDetail("days", "days.range", f"A token lasts from 1 to {MAX_DAYS} days.")
        raise MalformedRequest.of(fault, code="token.invalid")
    names = tuple(sorted(scope.value for scope in scopes))
    if not names:
        fault = ErrorDetail("scopes", "scopes.empty", "A token needs at least one scope.")
        raise MalformedRequest.of(fault, code="token.invalid")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    line = TokenLine(
        id=make_id("tok"),
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
    add_audit_entry(session, at=at, by=caller.id, action="token.revoked", subject=token_id)


def revoke_service_token(
    session: Session, membership: Membership, *, token_id: str, at: datetime
) -> None:
    """Revoke a token of a course run."""
    membership.need(Role.INSTRUCTOR)
    revoke_token(session, token_id=token_id, run_id=membership.run.id, at=at)
    record_action(session, membership, at=at, action="token.revoked", subject=token_id)
