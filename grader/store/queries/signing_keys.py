"""The keys that receipts are signed with."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, select

from grader.store.database import Session
from grader.store.tables import SigningKey


def find_signing_key(session: Session) -> bytes | None:
    """The newest private key."""
    return session.scalar(select(SigningKey.private).order_by(SigningKey.made_at.desc()).limit(1))


def list_signing_keys(session: Session) -> dict[str, bytes]:
    """All private keys by id, the newest first."""
    statement = select(SigningKey.id, SigningKey.private).order_by(SigningKey.made_at.desc())
    return {row[0]: row[1] for row in session.execute(statement)}


def add_signing_key(session: Session, *, key_id: str, private: bytes, at: datetime) -> None:
    """Add a key, which signs from now on."""
    session.execute(insert(SigningKey).values(id=key_id, private=private, made_at=at))
