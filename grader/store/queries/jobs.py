"""Jobs and their pieces: who does which, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, or_, select, update

from grader.domain.jobs import JobKind, JobState
from grader.errors import NotFound
from grader.store.bulk import insert_rows
from grader.store.database import Session, lock
from grader.store.keys import get_dialect
from grader.store.rows import get_table, list_columns, make_id
from grader.store.tables.jobs import JobPieceRow, JobRow


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job, and how far it is; before the first phase has begun it has no name."""

    id: str
    kind: JobKind
    run_id: str | None
    subject: str
    state: JobState
    phase: str
    total: int
    done: int
    error: str
    by: str
    made_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    phase_began_at: datetime | None = None


class JobPiece(NamedTuple):
    """A piece of a job; without content it finds the other pieces of its phase."""

    job_id: str
    number: int
    content: Any
    tries: int


_JOB = list_columns(JobRow, JobLine)
_PIECE = list_columns(JobPieceRow, JobPiece)


def _to_job(row: Any) -> JobLine:
    id, kind, run_id, subject, state, *rest = row
    return JobLine(id, JobKind(kind), run_id, subject, JobState(state), *rest)


def add_job(
    session: Session,
    *,
    kind: JobKind,
    run_id: str | None,
    subject: str,
    by: str,
    at: datetime,
) -> JobLine:
    """Add a job, which begins with finding the pieces of its first phase."""
    job = JobLine(
        id=make_id("job"),
        kind=kind,
        run_id=run_id,
        subject=subject,
        state=JobState.OPEN,
        phase="",
        total=0,
        done=0,
        error="",
        by=by,
        made_at=at,
    )
    session.execute(insert(JobRow).values(**asdict(job)))
    add_pieces(session, job_id=job.id, contents=[None], first=0)
    return job


def get_job(session: Session, *, job_id: str) -> JobLine:
    """A job by its id."""
    row = session.execute(select(*_JOB).where(JobRow.id == job_id)).one_or_none()
    if row is None:
        raise NotFound
    return _to_job(row)


def find_job_about(session: Session, *, subject: str) -> JobLine | None:
    """The newest job about something."""
    statement = (
        select(*_JOB).where(JobRow.subject == subject).order_by(JobRow.made_at.desc()).limit(1)
    )
    row = session.execute(statement).one_or_none()
    return _to_job(row) if row else None


def list_jobs(session: Session, *, limit: int = 100) -> list[JobLine]:
    """Jobs, newest first."""
    statement = select(*_JOB).order_by(JobRow.made_at.desc(), JobRow.id.desc()).limit(limit)
    return [_to_job(row) for row in session.execute(statement)]


def change_job(session: Session, job_id: str, **values: Any) -> None:
    """Give some columns of a job new values."""
    session.execute(update(JobRow).where(JobRow.id == job_id).values(**values))


def lock_job(session: Session, *, job_id: str) -> None:
    """Wait until nobody else finishes a piece of this job: whoever does the last one must know."""
    lock(session, [f"job {job_id}"])


# Pieces


def add_pieces(session: Session, *, job_id: str, contents: Sequence[Any], first: int) -> None:
    """Add pieces, numbered from `first` on."""
    insert_rows(
        session,
        get_table(JobPieceRow),
        (*JobPiece._fields, "owner", "leased_until"),
        [(job_id, first + place, each, 0, None, None) for place, each in enumerate(contents)],
    )


def find_last_number(session: Session, *, job_id: str) -> int:
    """The largest number of a piece that is left; 0 where there is none."""
    statement = select(func.max(JobPieceRow.number)).where(JobPieceRow.job_id == job_id)
    return session.scalar(statement) or 0


def claim_piece(
    session: Session, *, owner: str, at: datetime, until: datetime, job_id: str | None = None
) -> JobPiece | None:
    """Take the next piece that belongs to nobody, or to a worker whose lease has ended.

    Jobs are worked on in the order in which they were made.
    """
    statement = (
        select(*_PIECE)
        .join(JobRow, JobRow.id == JobPieceRow.job_id)
        .where(
            JobRow.state == JobState.OPEN.value,
            or_(JobPieceRow.leased_until.is_(None), JobPieceRow.leased_until <= at),
        )
        .order_by(JobRow.made_at, JobRow.id, JobPieceRow.number)
        .limit(1)
    )
    if job_id is not None:
        statement = statement.where(JobRow.id == job_id)
    if get_dialect(session) == "postgresql":
        # Another worker that is just taking it is not waited for.
        statement = statement.with_for_update(of=JobPieceRow, skip_locked=True)
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    piece = JobPiece(*row)
    session.execute(
        update(JobPieceRow)
        .where(JobPieceRow.job_id == piece.job_id, JobPieceRow.number == piece.number)
        .values(owner=owner, leased_until=until, tries=piece.tries + 1)
    )
    session.execute(
        update(JobRow)
        .where(JobRow.id == piece.job_id, JobRow.started_at.is_(None))
        .values(started_at=at)
    )
    return piece._replace(tries=piece.tries + 1)


def extend_leases(session: Session, *, owner: str, until: datetime) -> None:
    """Keep the pieces of a worker that lives."""
    session.execute(
        update(JobPieceRow).where(JobPieceRow.owner == owner).values(leased_until=until)
    )


def release_piece(session: Session, piece: JobPiece, *, owner: str) -> None:
    """Give a piece back that was not done."""
    session.execute(
        update(JobPieceRow).where(*_is_own(piece, owner)).values(owner=None, leased_until=None)
    )


def take_out_piece(session: Session, piece: JobPiece, *, owner: str) -> bool:
    """Remove a piece that is done; False where it belongs to another worker by now, or is done."""
    result = session.execute(
        delete(JobPieceRow).where(*_is_own(piece, owner)).returning(JobPieceRow.number)
    )
    return result.one_or_none() is not None


def _is_own(piece: JobPiece, owner: str) -> tuple[Any, ...]:
    return (
        JobPieceRow.job_id == piece.job_id,
        JobPieceRow.number == piece.number,
        JobPieceRow.owner == owner,
    )


def has_pieces(session: Session, *, job_id: str) -> bool:
    """Whether anything of a job is left to be done."""
    statement = select(JobPieceRow.number).where(JobPieceRow.job_id == job_id).limit(1)
    return session.execute(statement).one_or_none() is not None


def has_open_jobs(session: Session) -> bool:
    """Whether there is anything to do for a worker."""
    statement = select(JobRow.id).where(JobRow.state == JobState.OPEN.value).limit(1)
    return session.execute(statement).one_or_none() is not None


def end_job(
    session: Session, *, job_id: str, state: JobState, at: datetime, error: str = ""
) -> None:
    """End a job that is open, and leave nothing of it to be done.

    A piece that somebody is just doing comes to nothing.
    """
    lock_job(session, job_id=job_id)
    session.execute(delete(JobPieceRow).where(JobPieceRow.job_id == job_id))
    session.execute(
        update(JobRow)
        .where(JobRow.id == job_id, JobRow.state == JobState.OPEN.value)
        .values(state=state.value, error=error, ended_at=at)
    )
