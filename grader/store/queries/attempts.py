"""Attempts and how they came out, variants as first shown, and the earlier answers parts use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Integer,
    Select,
    and_,
    bindparam,
    cast,
    func,
    or_,
    select,
)

from grader.errors import NotFound
from grader.store.bulk import insert_rows
from grader.store.compiled import find_row, list_rows
from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.queries.judgements import is_latest
from grader.store.rows import get_table, list_columns, to_line
from grader.store.tables.attempts import AttemptRow, JudgementRow, VariantRow, ViewRow
from grader.store.tables.decisions import GradeRow
from grader.store.upserts import insert_missing

#: A student's enrolment, an assignment and a question of it.
StudentQuestion = tuple[str, str, str]


class AttemptLine(NamedTuple):
    """An answer as it was sent.

    `repeats_attempt_id` is the attempt with the same answer that this one repeats by a changed
    rubric; None for all attempts that count against the limit.
    """

    id: str
    run_id: str
    enrolment_id: str
    assignment: str
    question: str
    number: int
    answer: Any
    answer_digest: str
    publication_id: str
    uses_attempt_id: str | None
    repeats_attempt_id: str | None
    received_at: datetime

    @property
    def part(self) -> StudentQuestion:
        """Whose attempt it is, and at what."""
        return self.enrolment_id, self.assignment, self.question

    @property
    def is_free(self) -> bool:
        """Whether it does not count against the limit."""
        return self.repeats_attempt_id is not None


class JudgementLine(NamedTuple):
    """How an attempt came out by one version of the rubric.

    `regrade_id` is the regrade that judged it again; None for its first judgement.
    """

    id: str
    attempt_id: str
    number: int
    rubric_version: str
    verdicts: Any
    misconceptions: Any
    uses: str | None
    awarded: Decimal
    possible: Decimal
    pending: Decimal
    needs_person: bool
    receipt: Any
    judged_at: datetime
    regrade_id: str | None = None

    @property
    def rubric_versions(self) -> tuple[str, str]:
        """The versions of the rubric and of the earlier question's; empty where there is none."""
        return self.rubric_version, self.receipt["used_rubric"]

    @property
    def used_answer_digest(self) -> str:
        """The digest of the earlier question's answer; empty where there is none."""
        digest: str = self.receipt["used_answer"]
        return digest


#: An attempt with its latest judgement.
JudgedAttempt = tuple[AttemptLine, JudgementLine]

_ATTEMPT = list_columns(AttemptRow, AttemptLine)
_JUDGEMENT = list_columns(JudgementRow, JudgementLine)

_PART = ("enrolment_id", "assignment", "question")


@cache
def _select_judged(dialect: str, *names: str) -> Select[Any]:
    """Attempts with these columns among the keys, in order, each with its latest judgement."""
    keys = make_key_table(dialect, *names)
    return (
        select(*_ATTEMPT, *_JUDGEMENT)
        .join(keys, match_keys(keys, AttemptRow))
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(is_latest())
        .order_by(
            AttemptRow.enrolment_id, AttemptRow.assignment, AttemptRow.question, AttemptRow.number
        )
    )


def list_judged(session: Session, *, parts: Iterable[StudentQuestion]) -> list[JudgedAttempt]:
    """All attempts at these parts in order, each with its latest judgement."""
    return _list_judged(session, _PART, parts)


def list_same_answers(
    session: Session, *, answers: Iterable[tuple[str, str, str, str]]
) -> list[JudgedAttempt]:
    """All attempts with the same answer, by part and the answer's digest, in order."""
    return _list_judged(session, (*_PART, "answer_digest"), answers)


def _list_judged(
    session: Session, names: tuple[str, ...], keys: Iterable[tuple[str, ...]]
) -> list[JudgedAttempt]:
    statement = _select_judged(get_dialect(session), *names)
    rows = list_by_keys(session, statement, keys)
    return [_split_row(row) for row in rows]


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """An attempt and what it earned, without its answer and how it was judged."""

    id: str
    number: int
    repeats_attempt_id: str | None
    received_at: datetime
    awarded: Decimal


def list_outcomes(session: Session, *, part: StudentQuestion) -> list[OutcomeLine]:
    """All attempts of a student at a question in order, by their latest judgements."""
    rows = list_rows(session, _OUTCOMES, dict(zip(_PART, part, strict=True)))
    return [to_line(OutcomeLine, row) for row in rows]


_OUTCOMES = (
    select(
        AttemptRow.id,
        AttemptRow.number,
        AttemptRow.repeats_attempt_id,
        AttemptRow.received_at,
        JudgementRow.awarded,
    )
    .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
    .where(*(getattr(AttemptRow, name) == bindparam(name) for name in _PART), is_latest())
    .order_by(AttemptRow.number)
)


def find_attempts(session: Session, *, attempt_ids: Iterable[str]) -> dict[str, AttemptLine]:
    """Attempts by their ids."""
    statement = _select_attempts(get_dialect(session))
    rows = list_by_keys(session, statement, ((each,) for each in attempt_ids))
    return {row[0]: AttemptLine(*row) for row in rows}


@cache
def _select_attempts(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "id")
    return select(*_ATTEMPT).join(keys, match_keys(keys, AttemptRow))


def find_newest_times(
    session: Session, *, parts: Iterable[StudentQuestion]
) -> dict[StudentQuestion, datetime]:
    """When the newest attempt at each part arrived."""
    statement = _select_newest_times(get_dialect(session))
    rows = list_by_keys(session, statement, parts)
    return {(row[0], row[1], row[2]): row[3] for row in rows}


@cache
def _select_newest_times(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, *_PART)
    part: tuple[Any, ...] = tuple(getattr(AttemptRow, name) for name in _PART)
    return (
        select(*part, func.max(AttemptRow.received_at))
        .join(keys, match_keys(keys, AttemptRow))
        .group_by(*part)
    )


def find_judged(session: Session, *, attempt_id: str) -> JudgedAttempt | None:
    """An attempt with its latest judgement."""
    statement = (
        select(*_ATTEMPT, *_JUDGEMENT)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(AttemptRow.id == attempt_id, is_latest())
    )
    row = session.execute(statement).one_or_none()
    return _split_row(tuple(row)) if row else None


def get_judged(session: Session, *, attempt_id: str) -> JudgedAttempt:
    """An attempt with its latest judgement."""
    found = find_judged(session, attempt_id=attempt_id)
    if found is None:
        raise NotFound
    return found


def list_judged_of_question(
    session: Session, *, run_id: str, assignment: str, question: str | None = None
) -> list[JudgedAttempt]:
    """Everybody's attempts at an assignment or a question of it, by student and number."""
    statement = (
        select(*_ATTEMPT, *_JUDGEMENT)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(AttemptRow.run_id == run_id, AttemptRow.assignment == assignment, is_latest())
        .order_by(AttemptRow.question, AttemptRow.enrolment_id, AttemptRow.number)
    )
    if question is not None:
        statement = statement.where(AttemptRow.question == question)
    return [_split_row(tuple(row)) for row in session.execute(statement)]


def list_counted(
    session: Session, *, run_id: str, assignment: str, question: str | None = None
) -> list[JudgedAttempt]:
    """The attempts that count and have something that a person decides or has decided."""
    statement = (
        select(*_ATTEMPT, *_JUDGEMENT)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .join(GradeRow, GradeRow.counted_attempt_id == AttemptRow.id)
        .where(
            GradeRow.run_id == run_id,
            GradeRow.assignment == assignment,
            is_latest(),
            or_(JudgementRow.pending > 0, JudgementRow.needs_person),
        )
    )
    if question is not None:
        statement = statement.where(GradeRow.question == question)
    return [_split_row(tuple(row)) for row in session.execute(statement)]


def _split_row(row: tuple[Any, ...]) -> JudgedAttempt:
    return AttemptLine(*row[: len(_ATTEMPT)]), JudgementLine(*row[len(_ATTEMPT) :])


def add_attempts(
    session: Session,
    judged: Sequence[JudgedAttempt],
    *,
    at: datetime,
) -> None:
    """Add attempts with how they came out, one statement for each table."""
    insert_rows(
        session,
        get_table(AttemptRow),
        (*AttemptLine._fields, "stored_at"),
        [(*attempt, at) for attempt, _ in judged],
    )
    insert_rows(
        session,
        get_table(JudgementRow),
        (*JudgementLine._fields, "run_id"),
        [(*judgement, attempt.run_id) for attempt, judgement in judged],
    )


# Variants


@dataclass(frozen=True, slots=True)
class ShownVariant:
    """What was drawn for a student, as it was first shown."""

    run_id: str
    enrolment_id: str
    question: str
    revision: int
    drawn: Any


def find_variants(
    session: Session, *, wanted: Iterable[tuple[str, str, int]]
) -> dict[tuple[str, str, int], ShownVariant]:
    """Variants as first shown, by enrolment, question and revision."""
    statement = _select_variants(get_dialect(session))
    keys = ((enrolment_id, question, str(revision)) for enrolment_id, question, revision in wanted)
    rows = list_by_keys(session, statement, keys)
    lines = (to_line(ShownVariant, row) for row in rows)
    return {(each.enrolment_id, each.question, each.revision): each for each in lines}


@cache
def _select_variants(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "enrolment_id", "question", "revision")
    columns = list_columns(VariantRow, ShownVariant)
    is_wanted = and_(
        VariantRow.enrolment_id == keys.c.enrolment_id,
        VariantRow.question == keys.c.question,
        VariantRow.revision == cast(keys.c.revision, Integer),
    )
    return select(*columns).join(keys, is_wanted)


def add_variants(session: Session, variants: Sequence[ShownVariant], *, at: datetime) -> None:
    """Keep variants as they were first shown."""
    rows = [
        {
            "run_id": each.run_id,
            "enrolment_id": each.enrolment_id,
            "question": each.question,
            "revision": each.revision,
            "drawn": each.drawn,
            "shown_at": at,
        }
        for each in variants
    ]
    insert_missing(session, VariantRow, rows, key=("enrolment_id", "question", "revision"))


def record_view(session: Session, *, run_id: str, part: StudentQuestion, at: datetime) -> None:
    """Remember when a student first saw a question."""
    enrolment_id, assignment, question = part
    row = {
        "run_id": run_id,
        "enrolment_id": enrolment_id,
        "assignment": assignment,
        "question": question,
        "first_at": at,
    }
    insert_missing(session, ViewRow, [row], key=("enrolment_id", "assignment", "question"))


_VIEW = select(ViewRow.first_at).where(
    *(getattr(ViewRow, name) == bindparam(name) for name in _PART)
)


def has_view(session: Session, *, part: StudentQuestion) -> bool:
    """Whether a student has seen a question before."""
    parameters = dict(zip(_PART, part, strict=True))
    return find_row(session, _VIEW, parameters) is not None
