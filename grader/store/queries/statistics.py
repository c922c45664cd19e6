"""What statistics are made from: everybody's attempts at an assignment, without the rest.

Answers, receipts and variants are by far the most of what is stored, and are not read here. Rows
come in no order, because sorting them in the database costs more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Integer, Text, select, type_coerce
from sqlalchemy.orm import aliased

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.tables import Attempt, Enrolment, Judgement, View

# So many rows are held at a time.
_AT_ONCE = 2000


class TryLine(NamedTuple):
    """An attempt by the judgement that holds; points are whole hundredths.

    A named tuple, because there may be hundreds of thousands of them.
    """

    attempt_id: str
    enrolment_id: str
    question: str
    number: int
    received_at: datetime
    awarded: int
    possible: int
    pending: int
    needs_person: bool
    verdicts: Any
    misconceptions: Any


class ViewLine(NamedTuple):
    """When a student first saw a question."""

    enrolment_id: str
    question: str
    first_at: datetime


def stream_tries(
    session: Session, *, run_id: str, assignment: str, question: str | None = None
) -> Iterator[TryLine]:
    """Everybody's attempts at an assignment or a question of it, in no order."""
    later = aliased(Judgement)
    has_later = (
        select(later.id)
        .where(later.attempt_id == Judgement.attempt_id, later.number > Judgement.number)
        .exists()
    )
    statement = (
        select(
            Attempt.id,
            Attempt.enrolment_id,
            Attempt.question,
            Attempt.number,
            Attempt.received_at,
            type_coerce(Judgement.awarded, Integer),
            type_coerce(Judgement.possible, Integer),
            type_coerce(Judgement.pending, Integer),
            Judgement.needs_person,
            type_coerce(Judgement.verdicts, Text),
            type_coerce(Judgement.misconceptions, Text),
        )
        .join(Judgement, Judgement.attempt_id == Attempt.id)
        .where(Attempt.run_id == run_id, Attempt.assignment == assignment, ~has_later)
        .execution_options(yield_per=_AT_ONCE)
    )
    if question is not None:
        statement = statement.where(Attempt.question == question)
    # On the connection rather than the session, which would only handle every row once more. What
    # is JSON is parsed when its row's turn has come: thousands of parsed rows that wait for theirs
    # would cost more in garbage collection than in parsing.
    for *plain, verdicts, misconceptions in session.connection().execute(statement):
        yield TryLine._make((*plain, orjson.loads(verdicts), orjson.loads(misconceptions)))


def list_students(session: Session, *, run_id: str) -> list[tuple[str, bool]]:
    """The enrolments of all who are or were students of a course run, and whether they left."""
    statement = (
        select(Enrolment.id, Enrolment.left_at)
        .where(Enrolment.run_id == run_id, Enrolment.role == Role.STUDENT.value)
        .order_by(Enrolment.id)
    )
    return [(row[0], row[1] is not None) for row in session.execute(statement)]


def list_views(session: Session, *, run_id: str, assignment: str) -> list[ViewLine]:
    """When everybody first saw the questions of an assignment."""
    statement = (
        select(View.enrolment_id, View.question, View.first_at)
        # Views are found by enrolment: they have no index of their own on the course run.
        .join(Enrolment, Enrolment.id == View.enrolment_id)
        .where(Enrolment.run_id == run_id, View.assignment == assignment)
    )
    return [ViewLine(*row) for row in session.execute(statement)]
