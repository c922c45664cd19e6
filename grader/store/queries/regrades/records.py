"""Regrades themselves: what they judge, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    insert,
    select,
    update,
)

from grader.domain.regrades import RegradeState
from grader.errors import NotFound
from grader.store.database import Session
from grader.store.rows import list_columns
from grader.store.tables.regrades import RegradeRow


@dataclass(frozen=True, slots=True)
class RegradeLine:
    """A regrade; `questions` has for each what decides about its answers by this regrade."""

    id: str
    run_id: str
    assignment: str
    number: int
    publication_id: str
    questions: dict[str, str]
    judges_all: bool
    never_lower: bool
    state: RegradeState
    by: str
    made_at: datetime
    ready_at: datetime | None = None
    reason: str = ""
    decided_by: str | None = None
    decided_at: datetime | None = None
    undo_reason: str = ""
    undone_by: str | None = None
    undone_at: datetime | None = None


_REGRADE = list_columns(RegradeRow, RegradeLine)


def _to_regrade(row: Any) -> RegradeLine:
    values = list(row)
    place = RegradeLine.__match_args__.index("state")
    values[place] = RegradeState(values[place])
    return RegradeLine(*values)


def add_regrade(session: Session, regrade: RegradeLine) -> None:
    """Add a regrade."""
    session.execute(insert(RegradeRow).values(**asdict(regrade)))


def change_regrade(session: Session, regrade_id: str, **values: Any) -> None:
    """Give some columns of a regrade new values."""
    session.execute(update(RegradeRow).where(RegradeRow.id == regrade_id).values(**values))


def get_regrade(session: Session, *, regrade_id: str, run_id: str | None = None) -> RegradeLine:
    """A regrade, of this course run if one is named."""
    statement = select(*_REGRADE).where(RegradeRow.id == regrade_id)
    if run_id is not None:
        statement = statement.where(RegradeRow.run_id == run_id)
    row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFound
    return _to_regrade(row)


def find_regrades(session: Session, *, regrade_ids: Iterable[str | None]) -> dict[str, RegradeLine]:
    """Regrades by their ids; None is skipped."""
    wanted = sorted({each for each in regrade_ids if each is not None})
    if not wanted:
        return {}
    statement = select(*_REGRADE).where(RegradeRow.id.in_(wanted))
    lines = (_to_regrade(row) for row in session.execute(statement))
    return {each.id: each for each in lines}


def list_regrades(
    session: Session, *, run_id: str, assignment: str | None = None
) -> list[RegradeLine]:
    """The regrades of a course run or of one assignment, newest first."""
    statement = select(*_REGRADE).where(RegradeRow.run_id == run_id)
    if assignment is not None:
        statement = statement.where(RegradeRow.assignment == assignment)
    statement = statement.order_by(RegradeRow.made_at.desc(), RegradeRow.id.desc())
    return [_to_regrade(row) for row in session.execute(statement)]
