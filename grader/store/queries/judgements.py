"""The judgement of an attempt that counts: the newest of no regrade, or of one that is applied."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.orm import aliased

from grader.domain.regrades import RegradeState
from grader.store.tables.attempts import AttemptRow, JudgementRow
from grader.store.tables.regrades import RegradeRow


def is_effective(judgement: Any = JudgementRow, *, regrade: Any = None) -> ColumnElement[bool]:
    """Whether a judgement counts, if no later one does; as if `regrade` were applied, too."""
    of = aliased(RegradeRow)
    is_applied = exists().where(
        of.id == judgement.regrade_id, of.state == RegradeState.APPLIED.value
    )
    # Nearly all are of no regrade, and then nothing is looked up.
    counts = [judgement.regrade_id.is_(None), is_applied]
    if regrade is not None:
        counts.append(judgement.regrade_id == regrade)
    return or_(*counts)


def is_latest(*, regrade: Any = None) -> ColumnElement[bool]:
    """Whether a judgement is the one of its attempt that counts; for few attempts."""
    newest = aliased(JudgementRow)
    number = (
        select(func.max(newest.number))
        .where(newest.attempt_id == AttemptRow.id, is_effective(newest, regrade=regrade))
        .correlate(AttemptRow)
        .scalar_subquery()
    )
    return JudgementRow.number == number


def is_latest_of_many() -> ColumnElement[bool]:
    """The same, for statements that read all attempts."""
    later = aliased(JudgementRow)
    has_later = (
        select(later.id)
        .where(
            later.attempt_id == JudgementRow.attempt_id,
            later.number > JudgementRow.number,
            is_effective(later),
        )
        .exists()
    )
    return is_effective() & ~has_later
