"""Course runs that are being filled with made-up work, and how far they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, insert, select, update

from grader.store.compiled import find_row
from grader.store.database import Session
from grader.store.rows import list_columns, to_line
from grader.store.tables.people import FillRow

#: A step takes less than a second; after this time nobody works on the next one.
_MAX_STEP_DURATION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class FillLine:
    """The filling of a course run with the work of `students` students: `done` of `of` steps."""

    run_id: str
    students: int
    done: int
    of: int
    began_at: datetime
    seen_at: datetime

    @property
    def percent(self) -> int:
        """The share that is done; 100 is never reached, because nothing is left to show then."""
        return min(100 * self.done // max(self.of, 1), 99)

    def has_stopped(self, *, at: datetime) -> bool:
        """Whether nobody works on it, because the process has ended before it was done."""
        return at - self.seen_at > _MAX_STEP_DURATION


# Asked with every page of staff, so that it is put together once.
_FILL_BY_RUN = select(*list_columns(FillRow, FillLine)).where(FillRow.run_id == bindparam("run_id"))


def add_fill(session: Session, line: FillLine) -> None:
    """Record that a course run is to be filled."""
    session.execute(insert(FillRow).values(**asdict(line)))


def find_fill(session: Session, *, run_id: str) -> FillLine | None:
    """The filling of a course run; None if nothing is missing."""
    row = find_row(session, _FILL_BY_RUN, {"run_id": run_id})
    return to_line(FillLine, row) if row else None


def record_fill(session: Session, *, run_id: str, done: int, of: int, at: datetime) -> None:
    """Record how many steps are done."""
    session.execute(
        update(FillRow).where(FillRow.run_id == run_id).values(done=done, of=of, seen_at=at)
    )


def delete_fill(session: Session, *, run_id: str) -> None:
    """Record that nothing is missing any more."""
    session.execute(delete(FillRow).where(FillRow.run_id == run_id))
