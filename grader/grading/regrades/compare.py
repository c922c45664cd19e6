"""What a regrade changes about grades: before and after it, some students at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from grader.domain.grades import ZERO
from grader.grading.context import GradingContext
from grader.grading.grades.settle import (
    GradeEvents,
    compute_standings,
    load_events,
    make_grade_line,
)
from grader.grading.serialize import decode_judgement
from grader.store.database import Session
from grader.store.queries.attempts import JudgedAttempt, JudgementLine, StudentQuestion
from grader.store.queries.decisions import ReviewLine
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.regrades.changes import RegradedGrade
from grader.store.queries.regrades.judging import find_judgements
from grader.store.queries.regrades.records import RegradeLine


def compare_grades(
    session: Session,
    context: GradingContext,
    regrade: RegradeLine,
    *,
    parts: Iterable[StudentQuestion],
    at: datetime,
) -> list[RegradedGrade]:
    """The grades that a regrade would change if it were applied now, with what they would be."""
    wanted = set(parts)
    published = context.in_force(session, run_id=regrade.run_id, assignment=regrade.assignment)
    events = load_events(session, parts=wanted)
    judged = {attempt.id: (attempt, line) for attempt, line in events.judged}
    new = find_judgements(session, regrade_id=regrade.id, attempt_ids=judged)
    after = {
        attempt_id: (attempt, _choose(line, new.get(attempt_id), regrade))
        for attempt_id, (attempt, line) in judged.items()
    }
    standings = compute_standings(
        replace(events, judged=list(after.values())), {regrade.assignment: published}, wanted
    )
    grades = find_grades(session, parts=wanted)
    found = []
    for part, standing in sorted(standings.items()):
        old = grades.get(part)
        if old is None:
            # Nothing was done there, so that nothing was judged.
            continue
        line = make_grade_line(regrade.run_id, part, standing, old, at=at)
        if line != old:
            criteria = _compare_criteria(events, old, line, judged, after)
            found.append(RegradedGrade(old, line, criteria))
    return found


def _choose(
    counted: JudgementLine, new: JudgementLine | None, regrade: RegradeLine
) -> JudgementLine:
    """The judgement of an attempt that counts after a regrade."""
    if new is None or (regrade.never_lower and new.awarded < counted.awarded):
        return counted
    return new


def _compare_criteria(
    events: GradeEvents,
    old: GradeLine,
    new: GradeLine,
    judged: Mapping[str, JudgedAttempt],
    after: Mapping[str, JudgedAttempt],
) -> list[dict[str, Any]]:
    """The criteria whose points differ between the attempts that count before and after."""
    before = _list_points(old.counted_attempt_id, judged, events.reviews)
    now = _list_points(new.counted_attempt_id, after, events.reviews)
    return [
        {"criterion": name, "before": _format(before.get(name)), "after": _format(now.get(name))}
        for name in {**before, **now}
        if before.get(name, ZERO) != now.get(name, ZERO)
    ]


def _list_points(
    attempt_id: str | None,
    judged: Mapping[str, JudgedAttempt],
    reviews: Mapping[str, Mapping[str, ReviewLine]],
) -> dict[str, Decimal]:
    """By criterion what an attempt earned, reviews included."""
    if attempt_id is None or attempt_id not in judged:
        return {}
    own = reviews.get(attempt_id, {})
    return {
        each.criterion: own[each.criterion].points if each.criterion in own else each.points
        for each in decode_judgement(judged[attempt_id][1]).verdicts
    }


def _format(points: Decimal | None) -> str | None:
    return None if points is None else f"{points:f}"
