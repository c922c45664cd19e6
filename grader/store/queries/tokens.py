"""Tokens for programs, known by the hash of what their owners hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, or_, select, update

from grader.errors import NotFound
from grader.store.database import Session
from grader.store.queries.people import PERSON, PersonLine
from grader.store.tables import Person, Token


@dataclass(frozen=True, slots=True)
class TokenLine:
    """A token as its owner sees it; the token itself is not kept."""

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
    Token.id,
    Token.hint,
    Token.label,
    Token.person_id,
    Token.run_id,
    Token.scopes,
    Token.made_at,
    Token.expires_at,
    Token.revoked_at,
    Token.used_at,
)


def add_token(session: Session, token: TokenLine, *, digest: str, by: str) -> None:
    """Add a token, known by the hash of what its owner holds."""
    session.execute(
        insert(Token).values(
            id=token.id,
            digest=digest,
            hint=token.hint,
            label=token.label,
            person_id=token.person_id,
            run_id=token.run_id,
            scopes=list(token.scopes),
            by=by,
            made_at=token.made_at,
            expires_at=token.expires_at,
        )
    )


def find_token(
    session: Session, *, digest: str, at: datetime
) -> tuple[TokenLine, PersonLine | None] | None:
    """A token that holds at this moment, with the person it belongs to."""
    statement = (
        select(*_TOKEN, *PERSON)
        .outerjoin(Person, Person.id == Token.person_id)
        .where(
            Token.digest == digest,
            Token.revoked_at.is_(None),
            Token.expires_at > at,
            or_(Token.person_id.is_(None), Person.ended_at.is_(None)),
        )
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    token = _token_line(tuple(row)[: len(_TOKEN)])
    owner = tuple(row)[len(_TOKEN) :]
    return token, PersonLine(*owner) if token.person_id else None


def _token_line(row: tuple[object, ...]) -> TokenLine:
    line = TokenLine(*row)  # type: ignore[arg-type]  # the columns are in the order of the fields
    return TokenLine(
        line.id, line.hint, line.label, line.person_id, line.run_id, tuple(line.scopes),
        line.made_at, line.expires_at, line.revoked_at, line.used_at,
    )  # fmt: skip


def list_tokens(
    session: Session, *, person_id: str | None = None, run_id: str | None = None
) -> list[TokenLine]:
    """The tokens of a person or of a course run, the newest first."""
    owner = Token.person_id == person_id if person_id else Token.run_id == run_id
    statement = select(*_TOKEN).where(owner).order_by(Token.made_at.desc(), Token.id.desc())
    return [_token_line(tuple(row)) for row in session.execute(statement)]


def revoke_token(
    session: Session,
    *,
    token_id: str,
    at: datetime,
    person_id: str | None = None,
    run_id: str | None = None,
) -> None:
    """Revoke a token of this person or this course run."""
    owner = Token.person_id == person_id if person_id else Token.run_id == run_id
    revoked = session.execute(
        update(Token)
        .where(Token.id == token_id, owner)
        .values(revoked_at=func.coalesce(Token.revoked_at, at))
        .returning(Token.id)
    ).scalar_one_or_none()
    if revoked is None:
        raise NotFound


def touch_token(session: Session, *, token_id: str, at: datetime) -> None:
    """Note that a token was used."""
    session.execute(update(Token).where(Token.id == token_id).values(used_at=at))
