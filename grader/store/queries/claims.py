"""Claims: who reviews which attempt just now, for a few minutes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, or_, select

from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.tables import Claim
from grader.store.upserts import insert_or_take


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """Who holds an attempt, and until when."""

    attempt_id: str
    run_id: str
    by: str
    until: datetime


_CLAIM = (Claim.attempt_id, Claim.run_id, Claim.by, Claim.until)


def take_claim(session: Session, claim: ClaimLine, *, at: datetime) -> bool:
    """Hold an attempt that is free, has been left, or is held already by the same person.

    It is one statement, so that the database itself decides between two who come at once.
    """
    row = {
        "attempt_id": claim.attempt_id,
        "run_id": claim.run_id,
        "by": claim.by,
        "until": claim.until,
    }
    is_free = or_(Claim.by == claim.by, Claim.until <= at)
    return insert_or_take(session, Claim, row, key="attempt_id", where=is_free)


def find_claim(session: Session, *, attempt_id: str, at: datetime) -> ClaimLine | None:
    """Who holds an attempt at this moment."""
    statement = select(*_CLAIM).where(Claim.attempt_id == attempt_id, Claim.until > at)
    row = session.execute(statement).one_or_none()
    return as_line(ClaimLine, row) if row else None


def list_claims(session: Session, *, run_id: str, at: datetime) -> list[ClaimLine]:
    """All that is held in a course run at this moment."""
    statement = (
        select(*_CLAIM)
        .where(Claim.run_id == run_id, Claim.until > at)
        .order_by(Claim.until.desc(), Claim.attempt_id)
    )
    return [as_line(ClaimLine, row) for row in session.execute(statement)]


def drop_claim(session: Session, *, attempt_id: str, by: str) -> None:
    """Let go of an attempt; what somebody else holds stays held."""
    session.execute(delete(Claim).where(Claim.attempt_id == attempt_id, Claim.by == by))


def forget_claims(session: Session, *, run_id: str, at: datetime) -> None:
    """Forget what nobody holds any more."""
    session.execute(delete(Claim).where(Claim.run_id == run_id, Claim.until <= at))
