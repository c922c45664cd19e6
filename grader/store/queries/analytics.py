"""What question analytics ask for beside the statistics: states, draws, and who is behind a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Integer, Text, func, select, type_coerce
from sqlalchemy.orm import aliased

from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.queries.publications import find_in_force
from grader.store.tables import Attempt, Enrolment, Extension, Judgement, Person, Variant

_AT_ONCE = 2000


def find_state(session: Session, *, run_id: str, assignment: str) -> tuple[object, ...]:
    """Something that changes with what statistics of an assignment are made from.

    Attempts and judgements are only ever added, so that counting them is enough, and an index does
    that. It may be the same by chance after two people changed places in the roster.
    """
    published = find_in_force(session, run_id=run_id, assignment=assignment)
    attempts = select(func.count()).select_from(Attempt).where(Attempt.run_id == run_id)
    judgements = select(func.count()).select_from(Judgement).where(Judgement.run_id == run_id)
    extensions = select(func.count()).select_from(Extension).where(Extension.run_id == run_id)
    roster = (
        select(Enrolment.role, func.count(), func.count(Enrolment.left_at))
        .where(Enrolment.run_id == run_id)
        .group_by(Enrolment.role)
        .order_by(Enrolment.role)
    )
    return (
        published.id if published else None,
        session.scalar(attempts.where(Attempt.assignment == assignment)),
        # What was judged again; all first judgements belong to one attempt each.
        (session.scalar(judgements) or 0) - (session.scalar(attempts) or 0),
        session.scalar(extensions.where(Extension.assignment == assignment)),
        tuple(tuple(row) for row in session.execute(roster)),
    )


@dataclass(frozen=True, slots=True)
class FirstTry:
    """A student's first attempt at a question; points are whole hundredths."""

    enrolment_id: str
    awarded: int
    possible: int
    pending: int

    @property
    def is_solved(self) -> bool:
        """Whether it earned all that needs no person."""
        return self.awarded >= self.possible - self.pending


def list_first_tries(
    session: Session, *, run_id: str, assignment: str, question: str
) -> list[FirstTry]:
    """The first attempts at a question at which something could be earned without a person."""
    later = aliased(Judgement)
    has_later = (
        select(later.id)
        .where(later.attempt_id == Judgement.attempt_id, later.number > Judgement.number)
        .exists()
    )
    statement = (
        select(
            Attempt.enrolment_id,
            type_coerce(Judgement.awarded, Integer),
            type_coerce(Judgement.possible, Integer),
            type_coerce(Judgement.pending, Integer),
        )
        .join(Judgement, Judgement.attempt_id == Attempt.id)
        .where(
            Attempt.run_id == run_id,
            Attempt.assignment == assignment,
            Attempt.question == question,
            Attempt.number == 1,
            Judgement.possible > Judgement.pending,
            ~has_later,
        )
    )
    return [as_line(FirstTry, row) for row in session.execute(statement)]


def stream_drawn(
    session: Session, *, run_id: str, question: str, revision: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was drawn for everybody who was shown a question, by enrolment, in no order."""
    statement = (
        select(Variant.enrolment_id, type_coerce(Variant.drawn, Text))
        # Variants are found by enrolment: they have no index of their own on the course run.
        .join(Enrolment, Enrolment.id == Variant.enrolment_id)
        .where(
            Enrolment.run_id == run_id,
            Variant.question == question,
            Variant.revision == revision,
        )
        .execution_options(yield_per=_AT_ONCE)
    )
    for enrolment_id, drawn in session.connection().execute(statement):
        yield enrolment_id, orjson.loads(drawn)


@dataclass(frozen=True, slots=True)
class WhoLine:
    """The person behind an enrolment."""

    enrolment_id: str
    login: str
    name: str


def find_who(session: Session, *, enrolment_ids: Iterable[str]) -> dict[str, WhoLine]:
    """The people behind some enrolments, those who left included; at most some hundreds."""
    statement = (
        select(Enrolment.id, Person.login, Person.name)
        .join(Person, Person.id == Enrolment.person_id)
        .where(Enrolment.id.in_(sorted(set(enrolment_ids))))
    )
    lines = (as_line(WhoLine, row) for row in session.execute(statement))
    return {each.enrolment_id: each for each in lines}
