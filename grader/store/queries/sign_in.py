"""Sign-in links, and the browsers that are signed in."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, insert, select, update

from grader.store.database import Session
from grader.store.queries.people import PERSON, PersonLine
from grader.store.tables import BrowserSession, Person, SignInLink, Token


def add_sign_in_link(
    session: Session, *, digest: str, person_id: str, by: str, at: datetime, expires_at: datetime
) -> None:
    """Add a link that signs in once."""
    session.execute(
        insert(SignInLink).values(
            digest=digest, person_id=person_id, by=by, made_at=at, expires_at=expires_at
        )
    )


def use_sign_in_link(session: Session, *, digest: str, at: datetime) -> str | None:
    """Use up a link; returns whom it signs in, None if it is used, expired or unknown."""
    used = session.execute(
        update(SignInLink)
        .where(
            SignInLink.digest == digest, SignInLink.used_at.is_(None), SignInLink.expires_at > at
        )
        .values(used_at=at)
        .returning(SignInLink.person_id)
    ).scalar_one_or_none()
    return used


def add_browser_session(
    session: Session, *, digest: str, person_id: str, at: datetime, expires_at: datetime
) -> None:
    """Remember a browser that is signed in."""
    session.execute(
        insert(BrowserSession).values(
            digest=digest, person_id=person_id, made_at=at, expires_at=expires_at
        )
    )


# Asked with every page, so that it is put together once.
_SESSION_PERSON = (
    select(*PERSON)
    .join(BrowserSession, BrowserSession.person_id == Person.id)
    .where(
        BrowserSession.digest == bindparam("digest"),
        BrowserSession.ended_at.is_(None),
        BrowserSession.expires_at > bindparam("at"),
        Person.ended_at.is_(None),
    )
)


def find_session_person(session: Session, *, digest: str, at: datetime) -> PersonLine | None:
    """Who is signed in by this session."""
    row = session.execute(_SESSION_PERSON, {"digest": digest, "at": at}).one_or_none()
    return PersonLine(*row) if row else None


def end_browser_session(session: Session, *, digest: str, at: datetime) -> None:
    """Sign a browser out."""
    session.execute(
        update(BrowserSession).where(BrowserSession.digest == digest).values(ended_at=at)
    )


def end_all_of(session: Session, *, person_id: str, at: datetime) -> None:
    """End every session, token and link of a person."""
    session.execute(
        update(BrowserSession)
        .where(BrowserSession.person_id == person_id, BrowserSession.ended_at.is_(None))
        .values(ended_at=at)
    )
    session.execute(
        update(Token)
        .where(Token.person_id == person_id, Token.revoked_at.is_(None))
        .values(revoked_at=at)
    )
    session.execute(
        update(SignInLink)
        .where(SignInLink.person_id == person_id, SignInLink.used_at.is_(None))
        .values(used_at=at)
    )
