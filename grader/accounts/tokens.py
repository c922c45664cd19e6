"""Tokens for programs: made for a person or a course run, shown once, revoked at any time."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.accounts.callers import TOKEN_PREFIX, Caller, Membership, hash_secret, record_action
from grader.domain.roles import Role, Scope
from grader.errors import ErrorDetail, MalformedRequest, RequestRefused
from grader.store.database import Session, lock
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import (
    TokenLine,
    add_token,
    count_tokens_in_force,
    revoke_token,
    revoke_tokens,
)
from grader.store.queries.facts import RecordedTable
from grader.store.queries.people import PersonLine
from grader.store.rows import make_id

MAX_DAYS = 400
#: Maximum tokens in force of a person, and of a course run.
MAX_TOKENS = 50


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
    return _add_token(
        session, label=label, scopes=scopes, days=days, at=at, by=by, person_id=person.id
    )


def make_own_token(
    session: Session, caller: Caller, *, label: str, scopes: Iterable[Scope], days: int,
    at: datetime,
) -> NewToken:  # fmt: skip
    """Make a token for the caller, with no more scopes and no more time than the caller has."""
    person = caller.need_person()
    return _add_token(
        session, label=label, scopes=_check_scopes(caller, scopes), days=days, at=at, by=caller.id,
        person_id=person.id, ends_by=caller.token_expires_at,
    )  # fmt: skip


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
    caller = membership.caller
    return _add_token(
        session, label=label, scopes=_check_scopes(caller, scopes), days=days, at=at, by=caller.id,
        maker_id=caller.responsible_id, run_id=membership.run.id, ends_by=caller.token_expires_at,
    )  # fmt: skip


def _check_scopes(caller: Caller, scopes: Iterable[Scope]) -> frozenset[Scope]:
    scopes = frozenset(scopes)
    for scope in sorted(scopes):
        caller.need(scope)
    return scopes


def _add_token(
    session: Session,
    *,
    label: str,
    scopes: Iterable[Scope],
    days: int,
    at: datetime,
    by: str,
    maker_id: str | None = None,
    person_id: str | None = None,
    run_id: str | None = None,
    ends_by: datetime | None = None,
) -> NewToken:
    """Store a token that expires after some days, and no later than `ends_by`.

    Without that limit, tokens could renew themselves forever.

    Raises
    ------
    MalformedRequest
        If it would last too long or may do nothing.
    RequestRefused
        If the person or the course run has `MAX_TOKENS` already.
    """
    if not 1 <= days <= MAX_DAYS:
        fault = ErrorDetail("days", "days.range", f"A token lasts from 1 to {MAX_DAYS} days.")
        raise MalformedRequest.of(fault, code="token.invalid")
    names = tuple(sorted(scope.value for scope in scopes))
    if not names:
        fault = ErrorDetail("scopes", "scopes.empty", "A token needs at least one scope.")
        raise MalformedRequest.of(fault, code="token.invalid")
    owner = person_id or run_id or ""
    # Two requests at once must not both find room for the last one.
    lock(session, [f"tokens {owner}"])
    if count_tokens_in_force(session, person_id=person_id, run_id=run_id, at=at) >= MAX_TOKENS:
        raise RequestRefused(
            f"There are {MAX_TOKENS} tokens in force, and no more are allowed. Revoke those that "
            "are not needed any more.",
            code="tokens.too_many",
        )
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires_at = at + timedelta(days=days)
    line = TokenLine(
        id=make_id("tok"),
        hint=secret[-4:],
        label=label,
        person_id=person_id,
        run_id=run_id,
        scopes=names,
        made_at=at,
        expires_at=min(expires_at, ends_by) if ends_by else expires_at,
        revoked_at=None,
        used_at=None,
    )
    add_token(session, line, digest=hash_secret(secret), by=by, maker_id=maker_id)
    add_audit_entry(
        session,
        at=at,
        by=by,
        run_id=run_id,
        action="token.made",
        subject=line.id,
        details={"person": person_id, "scopes": list(names)},
        changed={RecordedTable.TOKENS: [line.id]},
    )
    return NewToken(line, secret)


def revoke_own_token(session: Session, caller: Caller, *, token_id: str, at: datetime) -> None:
    """Revoke one of the caller's own tokens."""
    person = caller.need_person()
    revoke_token(session, token_id=token_id, person_id=person.id, at=at)
    add_audit_entry(
        session, at=at, by=caller.id, action="token.revoked", subject=token_id,
        changed={RecordedTable.TOKENS: [token_id]},
    )  # fmt: skip


def revoke_all_own_tokens(session: Session, person: PersonLine, *, at: datetime) -> None:
    """Revoke all tokens of a person, as the person wishes."""
    for token_id in revoke_tokens(session, person_id=person.id, at=at):
        add_audit_entry(
            session, at=at, by=person.id, action="token.revoked", subject=token_id,
            changed={RecordedTable.TOKENS: [token_id]},
        )  # fmt: skip


def revoke_service_token(
    session: Session, membership: Membership, *, token_id: str, at: datetime
) -> None:
    """Revoke a token of a course run."""
    membership.need(Role.INSTRUCTOR)
    revoke_token(session, token_id=token_id, run_id=membership.run.id, at=at)
    record_action(
        session, membership, at=at, action="token.revoked", subject=token_id,
        changed={RecordedTable.TOKENS: [token_id]},
    )  # fmt: skip
