"""What a regrade changes, before anybody decides about it and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.grading.context import GradingContext
from grader.store.database import Session
from grader.store.queries.publications import get_publication
from grader.store.queries.regrades.judging import LeftOut, list_left_out
from grader.store.queries.regrades.preview import (
    GradeChange,
    RegradeCounts,
    TotalChange,
    count_changes,
    list_changes,
    list_kept_overrides,
    list_total_changes,
)
from grader.store.queries.regrades.records import RegradeLine


@dataclass(frozen=True, slots=True)
class GradeCrossing:
    """A student whose grade by the assignment's scale changes with the total."""

    student: TotalChange
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RegradePreview:
    """What a regrade changes, the grades that lose most first.

    `is_in_force` says whether its rubrics are those in force, so that it may be applied, and
    `overrides` are the logins and questions of staff's decisions, which stay.
    """

    regrade: RegradeLine
    publication: int
    is_in_force: bool
    counts: RegradeCounts
    changes: Sequence[GradeChange]
    crossings: Sequence[GradeCrossing]
    overrides: Sequence[tuple[str, str]]
    left_out: Sequence[LeftOut]


def load_preview(
    session: Session,
    context: GradingContext,
    regrade: RegradeLine,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> RegradePreview:
    """What a regrade changes; `limit` and `offset` are about the grades that are listed."""
    published = context.in_force(session, run_id=regrade.run_id, assignment=regrade.assignment)
    line = get_publication(session, publication_id=regrade.publication_id)
    crossings = []
    for student in list_total_changes(session, regrade):
        before = published.form.grade_for(student.before)
        after = published.form.grade_for(student.after)
        if before != after:
            crossings.append(GradeCrossing(student, before, after))
    return RegradePreview(
        regrade=regrade,
        publication=line.number,
        is_in_force=published.line.id == regrade.publication_id,
        counts=count_changes(session, regrade_id=regrade.id),
        changes=list_changes(session, regrade_id=regrade.id, limit=limit, offset=offset),
        crossings=crossings,
        overrides=list_kept_overrides(session, regrade),
        left_out=list_left_out(session, regrade_id=regrade.id),
    )
