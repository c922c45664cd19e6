"""Tokens, sign-in links, browser sessions, and idempotency keys."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Data, Digest, Id, Name, Prose, Slug


class TokenRow(Base):
    """An API token of a person, or of a service in one course run."""

    __tablename__ = "tokens"
    __table_args__ = (
        Index(None, "person_id"),
        Index(None, "run_id"),
        CheckConstraint("(person_id IS NULL) <> (run_id IS NULL)", "has_one_owner"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    digest: Mapped[Digest] = mapped_column(unique=True)
    hint: Mapped[Slug]
    label: Mapped[Name]
    person_id: Mapped[Id | None] = mapped_column(ForeignKey("people.id"))
    run_id: Mapped[Slug | None] = mapped_column(ForeignKey("runs.id"))
    scopes: Mapped[Data]
    by: Mapped[Id]
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    #: The person behind `by`, who may be a service; None where the command line made it. It is
    #: sorted last, since it was added last.
    maker_id: Mapped[Id | None] = mapped_column(ForeignKey("people.id"), sort_order=1)


class SignInLinkRow(Base):
    """A link that signs a person in once."""

    __tablename__ = "sign_in_links"
    __table_args__ = (Index(None, "person_id"),)

    digest: Mapped[Digest] = mapped_column(primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey("people.id"))
    by: Mapped[Id]
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class BrowserSessionRow(Base):
    """A signed-in browser."""

    __tablename__ = "browser_sessions"
    __table_args__ = (Index(None, "person_id"),)

    digest: Mapped[Digest] = mapped_column(primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey("people.id"))
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class FailedSignInRow(Base):
    """Passwords that were tried for a login, right ones excepted; it need not exist."""

    __tablename__ = "failed_sign_ins"
    __table_args__ = (Index(None, "began_at"),)

    login_digest: Mapped[Digest] = mapped_column(primary_key=True)
    tries: Mapped[int]
    began_at: Mapped[datetime]


class IdempotencyKeyRow(Base):
    """A request with a key, by which its response is replayed if it is sent again."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "made_at"),)

    caller: Mapped[Id] = mapped_column(primary_key=True)
    key: Mapped[Name] = mapped_column(primary_key=True)
    request_digest: Mapped[Digest]
    status: Mapped[int]
    made_at: Mapped[datetime]
    #: The response, which may be that of other keys as well.
    body_digest: Mapped[Digest] = mapped_column(sort_order=1)


class IdempotentResponseRow(Base):
    """The body of a response, stored once for all keys that got it."""

    __tablename__ = "idempotent_responses"
    __table_args__ = (Index(None, "made_at"),)

    digest: Mapped[Digest] = mapped_column(primary_key=True)
    body: Mapped[Prose]
    #: When the newest key got it, so that it is deleted after all of them.
    made_at: Mapped[datetime]
