"""Regrades, the judgements that they bring, and the grades that they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.orm import aliased

from grader.domain.regrades import RegradeState, Side
from grader.errors import NotFound
from grader.store.bulk import insert_rows
from grader.store.compiled import AnySelect, list_rows
from grader.store.database import Session
from grader.store.keys import (
    bind_keys,
    get_dialect,
    list_by_keys,
    make_key_table,
    match_keys,
)
from grader.store.queries.attempts import AttemptLine, JudgementLine, StudentQuestion
from grader.store.queries.grades import GradeLine
from grader.store.queries.judgements import is_effective, is_latest, is_latest_of_many
from grader.store.rows import get_table, list_columns, split_into_batches
from grader.store.tables.attempts import AttemptRow, JudgementRow
from grader.store.tables.decisions import (
    ExternalScoreRow,
    GradeRow,
    OverrideRow,
    ReviewRow,
    TotalRow,
)
from grader.store.tables.people import EnrolmentRow, PersonRow
from grader.store.tables.publications import ExtensionRow
from grader.store.tables.regrades import LeftOutRow, RegradedGradeRow, RegradeRow
from grader.store.types import to_points
from grader.store.upserts import insert_or_replace_from


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


# What is judged again


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


# What it changes


@dataclass(frozen=True, slots=True)
class RegradedGrade:
    """A grade before a regrade and after it, with the criteria that make the difference."""

    before: GradeLine
    after: GradeLine
    criteria: Sequence[Any]

    @property
    def gain(self) -> Decimal:
        """By how many points it rises."""
        return (self.after.points or Decimal(0)) - (self.before.points or Decimal(0))


_GRADE = tuple(name for name in GradeLine._fields if name not in ("assignment", "changed_at"))
_REGRADED = ("regrade_id", "side", "gain", "criteria", *_GRADE)


def add_regraded_grades(
    session: Session, regrade: RegradeLine, grades: Sequence[RegradedGrade]
) -> None:
    """Keep what a regrade changes about grades."""
    insert_rows(
        session,
        get_table(RegradedGradeRow),
        _REGRADED,
        [
            (
                regrade.id, side.value, each.gain, each.criteria,
                *(getattr(line, name) for name in _GRADE),
            )
            for each in grades
            for side, line in ((Side.BEFORE, each.before), (Side.AFTER, each.after))
        ],
    )  # fmt: skip


def list_regraded_parts(session: Session, regrade: RegradeLine) -> list[StudentQuestion]:
    """The grades that a regrade changes."""
    statement = select(RegradedGradeRow.enrolment_id, RegradedGradeRow.question).where(
        RegradedGradeRow.regrade_id == regrade.id, RegradedGradeRow.side == Side.AFTER.value
    )
    return [(row[0], regrade.assignment, row[1]) for row in session.execute(statement)]


def delete_regraded_grades(
    session: Session, *, regrade_id: str, parts: Sequence[StudentQuestion]
) -> None:
    """Forget what a regrade changes about these grades."""
    part = RegradedGradeRow.enrolment_id + "/" + RegradedGradeRow.question
    for batch in split_into_batches(parts):
        named = [f"{enrolment_id}/{question}" for enrolment_id, _, question in batch]
        session.execute(
            delete(RegradedGradeRow).where(
                RegradedGradeRow.regrade_id == regrade_id, part.in_(named)
            )
        )


def put_regraded_grades(
    session: Session, regrade: RegradeLine, *, side: Side, at: datetime
) -> None:
    """Give all grades that a regrade changes the values of one side, by one statement.

    Grades that have changed since they were compared stay as they are, see `list_outdated`.
    """
    kept = get_table(RegradedGradeRow).c
    grades = get_table(GradeRow)
    values = {name: kept[name] for name in _SETTLED}
    session.execute(
        update(grades)
        .values(**values, changes=grades.c.changes + 1, changed_at=at)
        .where(
            kept.regrade_id == regrade.id,
            kept.side == side.value,
            grades.c.enrolment_id == kept.enrolment_id,
            grades.c.assignment == regrade.assignment,
            grades.c.question == kept.question,
            grades.c.changes == kept.changes + _STEP[side],
        )
    )
    insert_or_replace_from(
        session,
        TotalRow,
        ("run_id", "enrolment_id", "assignment", "points", "pending"),
        _SUMS,
        key=("enrolment_id", "assignment"),
        parameters={"regrade_id": regrade.id, "of_assignment": regrade.assignment},
    )


#: What follows from the judgements of attempts.
_SETTLED = tuple(
    name
    for name in GradeLine._fields
    if name not in ("run_id", "enrolment_id", "assignment", "question", "changes", "changed_at")
)
#: From the number of changes that a side has to that of the grade which it replaces.
_STEP = {Side.AFTER: -1, Side.BEFORE: 1}


def _select_sums() -> Select[Any]:
    owner: tuple[Any, ...] = (GradeRow.run_id, GradeRow.enrolment_id, GradeRow.assignment)
    changed = select(RegradedGradeRow.enrolment_id).where(
        RegradedGradeRow.regrade_id == bindparam("regrade_id")
    )
    return (
        select(*owner, func.coalesce(func.sum(GradeRow.points), 0), func.sum(GradeRow.pending))
        .where(
            GradeRow.assignment == bindparam("of_assignment"), GradeRow.enrolment_id.in_(changed)
        )
        .group_by(*owner)
    )


_SUMS = _select_sums()


def list_outdated(session: Session, regrade: RegradeLine, *, side: Side) -> list[StudentQuestion]:
    """The grades to be given the values of a side that have changed since they were compared."""
    statement = (
        select(RegradedGradeRow.enrolment_id, RegradedGradeRow.question)
        .join(
            GradeRow,
            and_(
                GradeRow.enrolment_id == RegradedGradeRow.enrolment_id,
                GradeRow.assignment == regrade.assignment,
                GradeRow.question == RegradedGradeRow.question,
            ),
        )
        .where(
            RegradedGradeRow.regrade_id == regrade.id,
            RegradedGradeRow.side == side.value,
            GradeRow.changes != RegradedGradeRow.changes + _STEP[side],
        )
    )
    return [(row[0], regrade.assignment, row[1]) for row in session.execute(statement)]


def list_touched(
    session: Session,
    *,
    run_id: str,
    assignment: str,
    attempts_since: datetime,
    decisions_since: datetime,
) -> list[StudentQuestion]:
    """Grades with new attempts or decisions of staff, whether or not these changed them."""
    of_attempt = (AttemptRow.enrolment_id, AttemptRow.question)
    statements: list[Select[Any, Any]] = [
        select(*of_attempt).where(
            AttemptRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            AttemptRow.stored_at >= attempts_since,
        ),
        select(*of_attempt)
        .join(ReviewRow, ReviewRow.attempt_id == AttemptRow.id)
        .where(
            ReviewRow.run_id == run_id,
            AttemptRow.assignment == assignment,
            ReviewRow.at >= decisions_since,
        ),
        select(GradeRow.enrolment_id, GradeRow.question)
        .join(
            ExtensionRow,
            and_(
                ExtensionRow.enrolment_id == GradeRow.enrolment_id,
                ExtensionRow.assignment == GradeRow.assignment,
            ),
        )
        .where(
            ExtensionRow.run_id == run_id,
            GradeRow.assignment == assignment,
            ExtensionRow.at >= decisions_since,
        ),
    ]
    statements += [
        select(table.enrolment_id, table.question).where(
            table.run_id == run_id, table.assignment == assignment, table.at >= decisions_since
        )
        for table in (OverrideRow, ExternalScoreRow)
    ]
    found = {tuple(row) for each in statements for row in session.execute(each)}
    return [(enrolment_id, assignment, question) for enrolment_id, question in sorted(found)]


# The preview


@dataclass(frozen=True, slots=True)
class RegradeCounts:
    """How many attempts were judged again or left out, and how many grades differ in which way.

    `other` are those that keep their points and differ otherwise, as in what they are out of.
    """

    attempts: int
    left_out: int
    grades: int
    up: int
    down: int
    other: int

    @property
    def same(self) -> int:
        """How many grades stay as they are."""
        return self.grades - self.up - self.down - self.other


def count_changes(session: Session, *, regrade_id: str) -> RegradeCounts:
    """What a regrade has found so far."""
    parts = (
        select(AttemptRow.enrolment_id, AttemptRow.question)
        .join(JudgementRow, JudgementRow.attempt_id == AttemptRow.id)
        .where(JudgementRow.regrade_id == regrade_id)
        .distinct()
        .subquery()
    )
    gain = type_coerce(RegradedGradeRow.gain, Integer)
    sign = case((gain > 0, 1), (gain < 0, -1), else_=0)
    statement = (
        select(sign, func.count())
        .where(RegradedGradeRow.regrade_id == regrade_id, RegradedGradeRow.side == Side.AFTER.value)
        .group_by(sign)
    )
    signs = {row[0]: row[1] for row in session.execute(statement)}
    left_out = select(func.count()).where(LeftOutRow.regrade_id == regrade_id)
    return RegradeCounts(
        attempts=count_judgements(session, regrade_id=regrade_id),
        left_out=session.scalar(left_out) or 0,
        grades=session.scalar(select(func.count()).select_from(parts)) or 0,
        up=signs.get(1, 0),
        down=signs.get(-1, 0),
        other=signs.get(0, 0),
    )


@dataclass(frozen=True, slots=True)
class TotalChange:
    """A student whose total a regrade changes."""

    enrolment_id: str
    login: str
    name: str
    before: Decimal
    gain: Decimal

    @property
    def after(self) -> Decimal:
        """The total after the regrade."""
        return self.before + self.gain


def list_total_changes(session: Session, regrade: RegradeLine) -> list[TotalChange]:
    """The students whose total changes, as it was before the regrade, by login."""
    gain = func.sum(type_coerce(RegradedGradeRow.gain, Integer))
    is_applied = regrade.state is RegradeState.APPLIED
    statement = (
        select(
            EnrolmentRow.id,
            EnrolmentRow.login,
            PersonRow.name,
            type_coerce(TotalRow.points, Integer),
            gain,
        )
        .select_from(RegradedGradeRow)
        .join(EnrolmentRow, EnrolmentRow.id == RegradedGradeRow.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .join(
            TotalRow,
            and_(
                TotalRow.enrolment_id == EnrolmentRow.id,
                TotalRow.assignment == regrade.assignment,
            ),
        )
        .where(RegradedGradeRow.regrade_id == regrade.id, RegradedGradeRow.side == Side.AFTER.value)
        .group_by(EnrolmentRow.id, EnrolmentRow.login, PersonRow.name, TotalRow.points)
        .having(gain != 0)
        .order_by(EnrolmentRow.login)
    )
    return [
        TotalChange(
            enrolment_id,
            login,
            name,
            to_points(points - total_gain if is_applied else points),
            to_points(total_gain),
        )
        for enrolment_id, login, name, points, total_gain in session.execute(statement)
    ]


@dataclass(frozen=True, slots=True)
class GradeChange:
    """A grade before and after a regrade, with its student and the criteria that differ."""

    enrolment_id: str
    login: str
    name: str
    question: str
    before: Decimal | None
    before_possible: Decimal
    after: Decimal | None
    after_possible: Decimal
    gain: Decimal
    is_overridden: bool
    criteria: Any


def list_changes(
    session: Session, *, regrade_id: str, limit: int | None = None, offset: int = 0
) -> list[GradeChange]:
    """The grades that a regrade changes, those that lose most first."""
    before, after = aliased(RegradedGradeRow), aliased(RegradedGradeRow)
    statement = (
        select(
            after.enrolment_id,
            EnrolmentRow.login,
            PersonRow.name,
            after.question,
            before.points,
            before.possible,
            after.points,
            after.possible,
            after.gain,
            after.is_overridden,
            after.criteria,
        )
        .join(
            before,
            and_(
                before.regrade_id == after.regrade_id,
                before.enrolment_id == after.enrolment_id,
                before.question == after.question,
                before.side == Side.BEFORE.value,
            ),
        )
        .join(EnrolmentRow, EnrolmentRow.id == after.enrolment_id)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(after.regrade_id == regrade_id, after.side == Side.AFTER.value)
        .order_by(after.gain, after.enrolment_id, after.question)
        .offset(offset)
    )
    if limit is not None:
        statement = statement.limit(limit)
    return [GradeChange(*row) for row in session.execute(statement)]


def list_kept_overrides(session: Session, regrade: RegradeLine) -> list[tuple[str, str]]:
    """The logins and questions of overrides that stay, whatever a regrade has judged there."""
    statement = (
        select(EnrolmentRow.login, GradeRow.question)
        .select_from(GradeRow)
        .join(EnrolmentRow, EnrolmentRow.id == GradeRow.enrolment_id)
        .where(
            GradeRow.run_id == regrade.run_id,
            GradeRow.assignment == regrade.assignment,
            GradeRow.question.in_(sorted(regrade.questions)),
            GradeRow.is_overridden,
        )
        .order_by(EnrolmentRow.login, GradeRow.question)
    )
    return [(row[0], row[1]) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class StudentRegrade:
    """What a regrade has changed about one student's grade, and whether it was undone."""

    before: Decimal | None
    before_possible: Decimal
    after: Decimal | None
    after_possible: Decimal
    reason: str
    at: datetime
    undo_reason: str
    undone_at: datetime | None


def list_student_regrades(session: Session, *, part: StudentQuestion) -> list[StudentRegrade]:
    """The regrades that were applied and have changed a student's grade, oldest first."""
    enrolment_id, assignment, question = part
    parameters = {"enrolment_id": enrolment_id, "assignment": assignment, "question": question}
    rows = list_rows(session, _OF_STUDENT, parameters)
    return [StudentRegrade(*row) for row in rows]


def _select_of_student() -> AnySelect:
    before, after = aliased(RegradedGradeRow), aliased(RegradedGradeRow)
    return (
        select(
            before.points,
            before.possible,
            after.points,
            after.possible,
            RegradeRow.reason,
            RegradeRow.decided_at,
            RegradeRow.undo_reason,
            RegradeRow.undone_at,
        )
        .select_from(after)
        .join(RegradeRow, RegradeRow.id == after.regrade_id)
        .join(
            before,
            and_(
                before.regrade_id == after.regrade_id,
                before.enrolment_id == after.enrolment_id,
                before.question == after.question,
                before.side == Side.BEFORE.value,
            ),
        )
        .where(
            after.enrolment_id == bindparam("enrolment_id"),
            RegradeRow.assignment == bindparam("assignment"),
            after.question == bindparam("question"),
            after.side == Side.AFTER.value,
            # Others have changed nothing, or nothing yet.
            or_(
                RegradeRow.state == RegradeState.APPLIED.value,
                RegradeRow.state == RegradeState.UNDONE.value,
            ),
        )
        .order_by(RegradeRow.number)
    )


_OF_STUDENT = _select_of_student()
