"""Credentials: tokens, sign-in links and browser sessions, each stored as a hash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, Update, bindparam, delete, func, insert, or_, select, update

from grader.errors import NotFound
from grader.store.bulk import insert_rows
from grader.store.database import Session
from grader.store.keys import bind_keys, get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.queries.people import PERSON_COLUMNS, PersonLine
from grader.store.rows import get_table, to_line
from grader.store.tables.credentials import (
    BrowserSessionRow,
    FailedSignInRow,
    SignInLinkRow,
    TokenRow,
)
from grader.store.tables.people import PersonRow


@dataclass(frozen=True, slots=True)
class TokenLine:
    """A token as its owner sees it; the token itself is not stored."""

    id: str
    hint: str
    label: str
    person_id: str | None
    run_id: str | None
    scopes: tuple[str, ...]
    made_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


_TOKEN = (
    TokenRow.id,
    TokenRow.hint,
    TokenRow.label,
    TokenRow.person_id,
    TokenRow.run_id,
    TokenRow.scopes,
    TokenRow.made_at,
    TokenRow.expires_at,
    TokenRow.revoked_at,
    TokenRow.used_at,
)


def add_token(
    session: Session, token: TokenLine, *, digest: str, by: str, maker_id: str | None
) -> None:
    """Add a token by its hash; `maker_id` is the person behind `by`."""
    add_tokens(session, [(token, digest)], by=by, maker_id=maker_id)


def add_tokens(
    session: Session,
    tokens: Iterable[tuple[TokenLine, str]],
    *,
    by: str,
    maker_id: str | None = None,
) -> None:
    """Add tokens, each by its hash."""
    rows = [
        {
            "id": token.id,
            "digest": digest,
            "hint": token.hint,
            "label": token.label,
            "person_id": token.person_id,
            "run_id": token.run_id,
            "scopes": list(token.scopes),
            "by": by,
            "maker_id": maker_id,
            "made_at": token.made_at,
            "expires_at": token.expires_at,
        }
        for token, digest in tokens
    ]
    if rows:
        session.execute(insert(TokenRow), rows)


class ValidToken(NamedTuple):
    """A token that is not revoked, with its owner: a person, or a course run."""

    id: str
    run_id: str | None
    scopes: tuple[str, ...]
    expires_at: datetime
    used_at: datetime | None
    maker_id: str | None
    person: PersonLine | None


def find_tokens(session: Session, *, digests: Iterable[str]) -> dict[str, ValidToken]:
    """Tokens that are not revoked and whose owner has not left, by their hashes.

    They may have expired.
    """
    statement = _select_tokens(get_dialect(session))
    found = {}
    for row in list_by_keys(session, statement, ((each,) for each in digests)):
        digest, token_id, run_id, scopes, expires_at, used_at, maker_id, *owner = row
        person = None if owner[0] is None else PersonLine(*owner)
        found[digest] = ValidToken(
            token_id, run_id, tuple(scopes), expires_at, used_at, maker_id, person
        )
    return found


@cache
def _select_tokens(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "digest")
    names = ("digest", "id", "run_id", "scopes", "expires_at", "used_at", "maker_id")
    return (
        select(*(getattr(TokenRow, name) for name in names), *PERSON_COLUMNS)
        .join(keys, match_keys(keys, TokenRow))
        .outerjoin(PersonRow, PersonRow.id == TokenRow.person_id)
        .where(
            TokenRow.revoked_at.is_(None),
            or_(TokenRow.person_id.is_(None), PersonRow.ended_at.is_(None)),
        )
    )


def _to_token_line(row: tuple[object, ...]) -> TokenLine:
    line = TokenLine(*row)  # type: ignore[arg-type]  # the columns are in the order of the fields
    return TokenLine(
        line.id, line.hint, line.label, line.person_id, line.run_id, tuple(line.scopes),
        line.made_at, line.expires_at, line.revoked_at, line.used_at,
    )  # fmt: skip


def list_tokens(
    session: Session, *, person_id: str | None = None, run_id: str | None = None
) -> list[TokenLine]:
    """The tokens of a person or of a course run, the newest first."""
    owner = TokenRow.person_id == person_id if person_id else TokenRow.run_id == run_id
    statement = select(*_TOKEN).where(owner).order_by(TokenRow.made_at.desc(), TokenRow.id.desc())
    return [_to_token_line(tuple(row)) for row in session.execute(statement)]


def count_tokens_in_force(
    session: Session, *, person_id: str | None = None, run_id: str | None = None, at: datetime
) -> int:
    """The number of tokens of a person or of a course run that may be used."""
    owner = TokenRow.person_id == person_id if person_id else TokenRow.run_id == run_id
    statement = select(func.count()).where(
        owner, TokenRow.revoked_at.is_(None), TokenRow.expires_at > at
    )
    return session.scalar(statement) or 0


def revoke_token(
    session: Session,
    *,
    token_id: str,
    at: datetime,
    person_id: str | None = None,
    run_id: str | None = None,
) -> None:
    """Revoke a token of this person or this course run."""
    owner = TokenRow.person_id == person_id if person_id else TokenRow.run_id == run_id
    revoked = session.execute(
        update(TokenRow)
        .where(TokenRow.id == token_id, owner)
        .values(revoked_at=func.coalesce(TokenRow.revoked_at, at))
        .returning(TokenRow.id)
    ).scalar_one_or_none()
    if revoked is None:
        raise NotFound


def record_token_uses(session: Session, *, token_ids: Iterable[str], at: datetime) -> None:
    """Record that tokens were used."""
    wanted = [(each,) for each in token_ids]
    if wanted:
        statement = _record_uses(get_dialect(session))
        session.connection().execute(statement, {**bind_keys(wanted), "at": at})


@cache
def _record_uses(dialect: str) -> Update:
    keys = make_key_table(dialect, "id")
    # Two transactions that use the same tokens would wait for each other, and one record will do.
    free = select(TokenRow.id).join(keys, match_keys(keys, TokenRow))
    free = free.with_for_update(of=get_table(TokenRow), skip_locked=True)
    return update(get_table(TokenRow)).where(TokenRow.id.in_(free)).values(used_at=bindparam("at"))


def add_sign_in_link(
    session: Session, *, digest: str, person_id: str, by: str, at: datetime, expires_at: datetime
) -> None:
    """Add a one-time sign-in link."""
    session.execute(
        insert(SignInLinkRow).values(
            digest=digest, person_id=person_id, by=by, made_at=at, expires_at=expires_at
        )
    )


def take_sign_in_link(session: Session, *, digest: str, at: datetime) -> str | None:
    """Use up a link; returns whom it signs in, None if it is used, expired or unknown."""
    used = session.execute(
        update(SignInLinkRow)
        .where(
            SignInLinkRow.digest == digest,
            SignInLinkRow.used_at.is_(None),
            SignInLinkRow.expires_at > at,
        )
        .values(used_at=at)
        .returning(SignInLinkRow.person_id)
    ).scalar_one_or_none()
    return used


def add_browser_session(
    session: Session, *, digest: str, person_id: str, at: datetime, expires_at: datetime
) -> None:
    """Add the session of a browser."""
    session.execute(
        insert(BrowserSessionRow).values(
            digest=digest, person_id=person_id, made_at=at, expires_at=expires_at
        )
    )


@dataclass(frozen=True, slots=True)
class OpenBrowserSession:
    """A browser session that was not ended, with its person."""

    expires_at: datetime
    person: PersonLine


def find_browser_sessions(
    session: Session, *, digests: Iterable[str]
) -> dict[str, OpenBrowserSession]:
    """Sessions that were not ended and whose person has not left, by their hashes.

    They may have expired.
    """
    statement = _select_browser_sessions(get_dialect(session))
    found = {}
    for row in list_by_keys(session, statement, ((each,) for each in digests)):
        digest, expires_at, *person = row
        found[digest] = OpenBrowserSession(expires_at, PersonLine(*person))
    return found


@cache
def _select_browser_sessions(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "digest")
    return (
        select(BrowserSessionRow.digest, BrowserSessionRow.expires_at, *PERSON_COLUMNS)
        .join(keys, match_keys(keys, BrowserSessionRow))
        .join(PersonRow, PersonRow.id == BrowserSessionRow.person_id)
        .where(BrowserSessionRow.ended_at.is_(None), PersonRow.ended_at.is_(None))
    )


def end_browser_session(session: Session, *, digest: str, at: datetime) -> None:
    """End a browser session."""
    session.execute(
        update(BrowserSessionRow).where(BrowserSessionRow.digest == digest).values(ended_at=at)
    )


class BrowserSessionLine(NamedTuple):
    """A browser session as its person sees it."""

    digest: str
    made_at: datetime
    expires_at: datetime


def list_browser_sessions(
    session: Session, *, person_id: str, at: datetime, limit: int
) -> list[BrowserSessionLine]:
    """A person's sessions that may be used, the newest first."""
    statement = (
        select(*(getattr(BrowserSessionRow, name) for name in BrowserSessionLine._fields))
        .where(
            BrowserSessionRow.person_id == person_id,
            BrowserSessionRow.ended_at.is_(None),
            BrowserSessionRow.expires_at > at,
        )
        .order_by(BrowserSessionRow.made_at.desc(), BrowserSessionRow.digest)
        .limit(limit)
    )
    return [BrowserSessionLine(*row) for row in session.execute(statement)]


def end_browser_sessions(session: Session, *, person_id: str, at: datetime) -> None:
    """End every browser session of a person."""
    session.execute(
        update(BrowserSessionRow)
        .where(BrowserSessionRow.person_id == person_id, BrowserSessionRow.ended_at.is_(None))
        .values(ended_at=at)
    )


def revoke_tokens(session: Session, *, person_id: str, at: datetime) -> list[str]:
    """Revoke every token of a person; returns the ids of those that were not revoked before."""
    revoked = session.execute(
        update(TokenRow)
        .where(TokenRow.person_id == person_id, TokenRow.revoked_at.is_(None))
        .values(revoked_at=at)
        .returning(TokenRow.id)
    )
    return sorted(revoked.scalars())


def end_all_credentials(session: Session, *, person_id: str, at: datetime) -> list[str]:
    """End every session, token and link of a person; returns the ids of the revoked tokens."""
    end_browser_sessions(session, person_id=person_id, at=at)
    revoked = revoke_tokens(session, person_id=person_id, at=at)
    session.execute(
        update(SignInLinkRow)
        .where(SignInLinkRow.person_id == person_id, SignInLinkRow.used_at.is_(None))
        .values(used_at=at)
    )
    return revoked


class FailedSignIns(NamedTuple):
    """The wrong passwords for a login since a time."""

    tries: int
    began_at: datetime


def find_failed_sign_ins(session: Session, *, login_digest: str) -> FailedSignIns | None:
    """The wrong passwords that were noted for a login."""
    statement = select(FailedSignInRow.tries, FailedSignInRow.began_at).where(
        FailedSignInRow.login_digest == login_digest
    )
    row = session.execute(statement).one_or_none()
    return FailedSignIns(*row) if row else None


def put_failed_sign_ins(session: Session, *, login_digest: str, failed: FailedSignIns) -> None:
    """Note the wrong passwords for a login, instead of what was noted before."""
    names = ("login_digest", *FailedSignIns._fields)
    row = (login_digest, *failed)
    insert_rows(session, get_table(FailedSignInRow), names, [row], key=("login_digest",))


def delete_failed_sign_ins(session: Session, *, login_digest: str) -> None:
    """Forget the wrong passwords for a login."""
    session.execute(delete(FailedSignInRow).where(FailedSignInRow.login_digest == login_digest))


def delete_old_failed_sign_ins(session: Session, *, before: datetime) -> None:
    """Forget wrong passwords that were tried first before a time."""
    session.execute(delete(FailedSignInRow).where(FailedSignInRow.began_at < before))


def list_all_tokens(session: Session) -> list[tuple[TokenLine, str]]:
    """All tokens, the newest first, each with its owner: a login, or a course run."""
    columns = [getattr(TokenRow, field.name) for field in fields(TokenLine)]
    statement = (
        select(*columns, PersonRow.login)
        .outerjoin(PersonRow, PersonRow.id == TokenRow.person_id)
        .order_by(TokenRow.made_at.desc(), TokenRow.id.desc())
    )
    found = []
    for row in session.execute(statement):
        *values, login = row
        line = to_line(TokenLine, values)
        found.append((replace(line, scopes=tuple(line.scopes)), login or line.run_id or ""))
    return found
