"""A regrade in pieces, each of which is done by itself: read and judged, then stored.

A piece names what it is about, so that it can be done by anybody, and again after a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from grader.grading.context import GradingContext
from grader.grading.regrades.judge import JudgedAgain
from grader.grading.regrades.outdated import load_rubric_history
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.publications import get_publication
from grader.store.queries.regrades.judging import (
    add_judgements,
    add_left_out,
    list_attempt_ids,
    list_students_of_attempts,
)
from grader.store.queries.regrades.records import RegradeLine

#: Attempts that are judged at once: enough for large products, few enough to lose little of.
ATTEMPTS_PER_PIECE = 512
#: Grades that are compared at once.
GRADES_PER_PIECE = 512


def list_judging_pieces(
    session: Session, context: GradingContext, regrade: RegradeLine
) -> list[list[str]]:
    """The attempts to be judged again, a piece at a time, question by question."""
    line = get_publication(session, publication_id=regrade.publication_id)
    history = load_rubric_history(session, context, context.published(session, line))
    pieces = []
    for question in regrade.questions:
        ids = list_attempt_ids(
            session,
            run_id=regrade.run_id,
            assignment=regrade.assignment,
            question=question,
            except_by=() if regrade.judges_all else history.alike[question],
        )
        pieces += list(_split(ids, ATTEMPTS_PER_PIECE))
    return pieces


def store_judged(session: Session, regrade: RegradeLine, judged: JudgedAgain) -> None:
    """Store what a piece has judged; it does not count yet."""
    add_judgements(session, judged.judgements, regrade=regrade)
    add_left_out(session, regrade_id=regrade.id, left_out=judged.left_out)


def list_comparing_pieces(session: Session, regrade: RegradeLine) -> list[list[StudentQuestion]]:
    """The grades to be compared, a piece at a time, after everything was judged."""
    return list(_split(list_students_of_attempts(session, regrade_id=regrade.id), GRADES_PER_PIECE))


_Value = TypeVar("_Value")


def _split(values: Sequence[_Value], size: int) -> Iterator[list[_Value]]:
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
