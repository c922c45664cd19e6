"""The attempts that a regrade judges, and the judgements that it brings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.orm import aliased

from grader.store.bulk import insert_rows
from grader.store.compiled import list_rows
from grader.store.database import Session
from grader.store.keys import (
    bind_keys,
    get_dialect,
    list_by_keys,
    make_key_table,
    match_keys,
)
from grader.store.queries.attempts import AttemptLine, JudgementLine, StudentQuestion
from grader.store.queries.judgements import is_effective, is_latest, is_latest_of_many
from grader.store.queries.regrades.records import RegradeLine
from grader.store.rows import get_table, list_columns
from grader.store.tables.attempts import AttemptRow, JudgementRow
from grader.store.tables.decisions import (
    GradeRow,
)
from grader.store.tables.regrades import LeftOutRow, RegradedGradeRow, RegradeRow


class VersionCount(NamedTuple):
    """How many attempts at a question count by the rubrics of a publication."""

    question: str
    publication_id: str
    attempts: int


def count_versions(session: Session, *, run_id: str, assignment: str) -> list[VersionCount]:
    """By the rubrics of which publications the attempts at an assignment count."""
    judged_by = _judged_by()
    statement = (
        select(AttemptRow.question, judged_by, func.count())
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .join(RegradeRow, RegradeRow.id == JudgementRow.regrade_id, isouter=True)
        .where(
            AttemptRow.run_id == run_id, AttemptRow.assignment == assignment, is_latest_of_many()
        )
        .group_by(AttemptRow.question, judged_by)
    )
    return [VersionCount(*row) for row in session.execute(statement)]


class AttemptCount(NamedTuple):
    """How many attempts there are at a question, and of how many students."""

    attempts: int
    students: int


def count_attempts(session: Session, *, run_id: str, assignment: str) -> dict[str, AttemptCount]:
    """Count the attempts at an assignment, by question."""
    statement = (
        select(AttemptRow.question, func.count(), func.count(AttemptRow.enrolment_id.distinct()))
        .where(AttemptRow.run_id == run_id, AttemptRow.assignment == assignment)
        .group_by(AttemptRow.question)
    )
    return {row[0]: AttemptCount(row[1], row[2]) for row in session.execute(statement)}


def list_counted_attempts(
    session: Session, *, run_id: str, assignment: str, question: str, limit: int
) -> list[str]:
    """Some attempts at a question that count, those of the newest grades."""
    statement = (
        select(GradeRow.counted_attempt_id)
        .where(
            GradeRow.run_id == run_id,
            GradeRow.assignment == assignment,
            GradeRow.question == question,
            GradeRow.counted_attempt_id.is_not(None),
        )
        .order_by(GradeRow.changed_at.desc(), GradeRow.enrolment_id)
        .limit(limit)
    )
    return [str(row[0]) for row in session.execute(statement)]


def list_attempt_ids(
    session: Session, *, run_id: str, assignment: str, question: str, except_by: Iterable[str]
) -> list[str]:
    """The attempts at a question that do not count by the rubrics of these publications."""
    statement = (
        select(AttemptRow.id)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .join(RegradeRow, RegradeRow.id == JudgementRow.regrade_id, isouter=True)
        .where(
            AttemptRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            AttemptRow.question == question,
            is_latest_of_many(),
            _judged_by().not_in(sorted(except_by)),
        )
        .order_by(AttemptRow.id)
    )
    return list(session.scalars(statement))


def _judged_by() -> ColumnElement[str]:
    """The publication with the rubrics by which an attempt counts."""
    return func.coalesce(RegradeRow.publication_id, AttemptRow.publication_id)


def list_students_of_attempts(session: Session, *, regrade_id: str) -> list[StudentQuestion]:
    """Whose grades the judgements of a regrade may change."""
    part = (AttemptRow.enrolment_id, AttemptRow.assignment, AttemptRow.question)
    statement = (
        select(*part)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(JudgementRow.regrade_id == regrade_id)
        .distinct()
        .order_by(*part)
    )
    return [(row[0], row[1], row[2]) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class RegradeCase:
    """An attempt to be judged again, with the judgement that counts so far."""

    attempt: AttemptLine
    stored_at: datetime
    last_number: int
    """Of all its judgements, also of those that do not count."""
    judgement: JudgementLine


def find_cases(session: Session, *, attempt_ids: Iterable[str]) -> list[RegradeCase]:
    """These attempts in the order of their ids, as far as no judgement of theirs is prepared."""
    statement = _select_cases(get_dialect(session))
    rows = list_by_keys(session, statement, ((each,) for each in attempt_ids))
    width = len(_ATTEMPT)
    return [
        RegradeCase(
            AttemptLine(*row[:width]), row[width], row[width + 1], JudgementLine(*row[width + 2 :])
        )
        for row in rows
    ]


_ATTEMPT = list_columns(AttemptRow, AttemptLine)
_JUDGEMENT = list_columns(JudgementRow, JudgementLine)


@cache
def _select_cases(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "id")
    every = aliased(JudgementRow)
    last_number = (
        select(func.max(every.number))
        .where(every.attempt_id == AttemptRow.id)
        .correlate(AttemptRow)
        .scalar_subquery()
    )
    return (
        select(*_ATTEMPT, AttemptRow.stored_at, last_number, *_JUDGEMENT)
        .join(keys, match_keys(keys, AttemptRow))
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(is_latest())
        .order_by(AttemptRow.id)
    )


class LeftOut(NamedTuple):
    """An attempt that a regrade leaves as it is, and why."""

    attempt_id: str
    code: str
    text: str


def add_left_out(session: Session, *, regrade_id: str, left_out: Sequence[LeftOut]) -> None:
    """Note attempts that a regrade leaves as they are."""
    insert_rows(
        session,
        get_table(LeftOutRow),
        ("regrade_id", *LeftOut._fields),
        [(regrade_id, *each) for each in left_out],
    )


def list_left_out(session: Session, *, regrade_id: str, limit: int = 200) -> list[LeftOut]:
    """Attempts that a regrade leaves as they are."""
    statement = (
        select(*list_columns(LeftOutRow, LeftOut))
        .where(LeftOutRow.regrade_id == regrade_id)
        .order_by(LeftOutRow.attempt_id)
        .limit(limit)
    )
    return [LeftOut(*row) for row in session.execute(statement)]


def add_judgements(
    session: Session, judgements: Sequence[JudgementLine], *, regrade: RegradeLine
) -> None:
    """Add judgements that count once their regrade is applied."""
    insert_rows(
        session,
        get_table(JudgementRow),
        (*JudgementLine._fields, "run_id"),
        [(*each, regrade.run_id) for each in judgements],
    )


def find_judgements(
    session: Session, *, regrade_id: str, attempt_ids: Iterable[str]
) -> dict[str, JudgementLine]:
    """What a regrade has judged of these attempts, by attempt."""
    keys = bind_keys((each,) for each in attempt_ids)
    rows = list_rows(
        session, _select_judgements(get_dialect(session)), keys | {"regrade_id": regrade_id}
    )
    lines = (JudgementLine(*row) for row in rows)
    return {each.attempt_id: each for each in lines}


@cache
def _select_judgements(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "attempt_id")
    # No index is to be used for it, which would find all that the regrade has judged.
    is_of_regrade = func.coalesce(JudgementRow.regrade_id, "") == bindparam("regrade_id")
    return select(*_JUDGEMENT).join(keys, match_keys(keys, JudgementRow)).where(is_of_regrade)


def delete_judgements(session: Session, *, regrade_id: str) -> None:
    """Delete what a regrade has judged, which never counted, and what it would change."""
    session.execute(delete(LeftOutRow).where(LeftOutRow.regrade_id == regrade_id))
    session.execute(delete(RegradedGradeRow).where(RegradedGradeRow.regrade_id == regrade_id))
    session.execute(delete(JudgementRow).where(JudgementRow.regrade_id == regrade_id))


def delete_lowering_judgements(session: Session, *, regrade_id: str) -> None:
    """Delete the judgements of a regrade that give an attempt less than the one that counts."""
    own = aliased(JudgementRow)
    counted = aliased(JudgementRow)
    newest = (
        select(counted.awarded)
        .where(counted.attempt_id == own.attempt_id, counted.id != own.id, is_effective(counted))
        .order_by(counted.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    lowering = select(own.id).where(own.regrade_id == regrade_id, own.awarded < newest)
    session.execute(delete(JudgementRow).where(JudgementRow.id.in_(lowering)))


def count_judgements(session: Session, *, regrade_id: str) -> int:
    """How many attempts a regrade has judged so far."""
    statement = (
        select(func.count()).select_from(JudgementRow).where(JudgementRow.regrade_id == regrade_id)
    )
    return session.scalar(statement) or 0
