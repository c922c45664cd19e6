"""The audit chain, and the keys that sign receipts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from grader.store.tables.base import Base, Bytes, Data, Digest, Id, Name, Prose, Slug


class AuditEntryRow(Base):
    """An action of staff or an operator, with the hash of the previous entry."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "run_id"),)

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    by: Mapped[Id]
    run_id: Mapped[Slug | None] = mapped_column(ForeignKey("runs.id"))
    action: Mapped[Slug]
    subject: Mapped[Name]
    details: Mapped[Data]
    previous: Mapped[Digest]
    digest: Mapped[Digest] = mapped_column(unique=True)
    #: The rows that the action changed, as they were then; their digest is in `details`. They are
    #: beside them, because whoever reads what was done does not need all of a roster.
    facts: Mapped[Prose | None]


class SigningKeyRow(Base):
    """A private key for receipts; the newest one signs."""

    __tablename__ = "signing_keys"

    id: Mapped[Id] = mapped_column(primary_key=True)
    private: Mapped[Bytes]
    made_at: Mapped[datetime]
