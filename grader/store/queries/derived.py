"""What is kept twice for speed, beside what it comes from, for `grader verify`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, case, func, literal, null, select, type_coerce, union_all

from grader.store.database import Session
from grader.store.tables import Enrolment, Grade, Person, Total


@dataclass(frozen=True, slots=True)
class KeptTotal:
    """A student's total as it is kept and as the grades come to, in hundredths; None is absent."""

    enrolment_id: str
    assignment: str
    run_id: str | None
    points: int | None
    pending: int | None
    graded_run_id: str | None
    graded_points: int | None
    graded_pending: int | None


def walk_totals(session: Session) -> Iterator[KeptTotal]:
    """All totals beside the sums of the grades, by student and assignment, a few at a time."""
    # SQLite keeps any value in any column, and `sum` takes what is no number for nothing.
    points, pending = (type_coerce(each, Integer) for each in (Total.points, Total.pending))
    kept = select(
        Total.enrolment_id, Total.assignment, literal(1).label("is_kept"),
        Total.run_id.label("run_id"), points.label("points"), pending.label("pending"),
    )  # fmt: skip
    graded = select(
        Grade.enrolment_id, Grade.assignment, literal(0),
        func.max(Grade.run_id), func.coalesce(func.sum(type_coerce(Grade.points, Integer)), 0),
        func.sum(type_coerce(Grade.pending, Integer)),
    ).group_by(Grade.enrolment_id, Grade.assignment)  # fmt: skip
    both = union_all(kept, graded).subquery()
    columns: list[Any] = [
        func.max(case((both.c.is_kept == flag, each), else_=null()))
        for flag in (1, 0)
        for each in (both.c.run_id, both.c.points, both.c.pending)
    ]
    owner = (both.c.enrolment_id, both.c.assignment)
    statement = select(*owner, *columns).group_by(*owner).order_by(*owner)
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield KeptTotal(*row)


def walk_renamed(session: Session) -> Iterator[tuple[str, str, str]]:
    """Enrolments whose login is not the person's: id, what they have, and what it should be."""
    statement = (
        select(Enrolment.id, Enrolment.login, Person.login)
        .join(Person, Person.id == Enrolment.person_id)
        .where(Enrolment.login != Person.login)
        .order_by(Enrolment.id)
    )
    for row in session.execute(statement.execution_options(yield_per=1000)):
        yield row[0], row[1], row[2]


def count_totals_kept(session: Session) -> int:
    """How many totals there are."""
    return session.scalar(select(func.count()).select_from(Total)) or 0
