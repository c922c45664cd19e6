"""Grades: each follows from its events, none is missing, and none is without an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby, islice
from operator import itemgetter

from grader.errors import KeysetError
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.rules import PublicationRules
from grader.grading.context import PublishedAssignment
from grader.grading.grades.settle import compute_standings, load_events, make_grade_line
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.verification import (
    StoredTotal,
    stream_login_mismatches,
    stream_student_questions,
    stream_totals,
)

_BATCH_SIZE = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The fields that only record how often and when a grade changed.
_BOOKKEEPING_FIELDS = ("changes", "changed_at")
_ILL_FORMED = (ArithmeticError, AttributeError, KeysetError, LookupError, TypeError, ValueError)


def check_grades(session: Session, rules: PublicationRules, tally: AuditCheck) -> None:
    """Compute every grade again and compare."""
    for run_id, of_run in groupby(stream_student_questions(session), key=itemgetter(0)):
        parts = (part for _, part in of_run)
        while batch := list(islice(parts, _BATCH_SIZE)):
            tally.count(len(batch))
            if run_id is None:
                for part in batch:
                    tally.report(_name(part), "This student is in no course run.")
            else:
                _check(session, rules, run_id, batch, tally)


def _check(
    session: Session,
    rules: PublicationRules,
    run_id: str,
    parts: Sequence[StudentQuestion],
    tally: AuditCheck,
) -> None:
    assignments: dict[str, PublishedAssignment] = {}
    for name in {assignment for _, assignment, _ in parts}:
        published = rules.in_force(run_id, name)
        if published is not None:
            assignments[name] = published
    known = []
    for part in parts:
        if part[1] in assignments:
            known.append(part)
        else:
            tally.report(_name(part), "No publication is in force to compute it by.")
    for part, text in _compare(session, run_id, known, assignments):
        tally.report(_name(part), text)


def _compare(
    session: Session,
    run_id: str,
    parts: Sequence[StudentQuestion],
    assignments: dict[str, PublishedAssignment],
) -> list[tuple[StudentQuestion, str]]:
    """All differences; if something cannot be read, each grade is computed alone."""
    try:
        return list(_differences(session, run_id, parts, assignments))
    except _ILL_FORMED:
        if len(parts) == 1:
            return [(parts[0], "It cannot be computed from what is stored.")]
        return [each for part in parts for each in _compare(session, run_id, [part], assignments)]


def _differences(
    session: Session,
    run_id: str,
    parts: Sequence[StudentQuestion],
    assignments: dict[str, PublishedAssignment],
) -> Iterator[tuple[StudentQuestion, str]]:
    if not parts:
        return
    events = load_events(session, parts=parts)
    happened = {attempt.part for attempt, _ in events.judged}
    happened |= set(events.overrides) | set(events.external)
    stored = find_grades(session, parts=parts)
    for part, (standing, possible) in sorted(compute_standings(events, assignments, parts).items()):
        before = stored.get(part)
        now = make_grade_line(run_id, part, standing, possible, before, at=_EPOCH)
        if part not in happened:
            yield part, "There is a grade, but no event that it could come from."
        elif before is None:
            yield part, f"There is no grade, but it should be {_points(now)}."
        elif wrong := _wrong(before, now):
            yield part, f"The grade does not follow from its events: {wrong}."


def _wrong(stored: GradeLine, computed: GradeLine) -> str:
    names = [each.name for each in fields(GradeLine) if each.name not in _BOOKKEEPING_FIELDS]
    return ", ".join(
        f"{name} is {_format_value(stored, name)} and should be {_format_value(computed, name)}"
        for name in names
        if getattr(stored, name) != getattr(computed, name)
    )


def _format_value(line: GradeLine, name: str) -> str:
    value = getattr(line, name)
    return "nothing" if value is None else f"{value}"


def _points(line: GradeLine) -> str:
    return "without points" if line.points is None else f"{line.points:f} points"


def _name(part: StudentQuestion) -> str:
    enrolment_id, assignment, question = part
    return f"{enrolment_id} at {assignment}/{question}"


def check_totals(session: Session, tally: AuditCheck) -> None:
    """Add up every student's grades again and compare, and the logins stored in rosters."""
    for line in stream_totals(session):
        tally.count()
        if wrong := _describe_wrong_total(line):
            tally.report(f"{line.enrolment_id} at {line.assignment}", wrong)
    for enrolment_id, kept, right in stream_login_mismatches(session):
        tally.count()
        tally.report(
            enrolment_id, f"The roster has the login {kept!r}, but the person has {right!r}."
        )


def _describe_wrong_total(line: StoredTotal) -> str:
    if line.run_id is None:
        return f"There is no total, but it should be {_format_hundredths(line.graded_points)}."
    if line.graded_run_id is None:
        return "There is a total, but no grade that it could come from."
    if line.run_id != line.graded_run_id:
        return "The total is of another course run than the grades."
    if (line.points, line.pending) != (line.graded_points, line.graded_pending):
        return (
            f"The total is {_format_hundredths(line.points)} and "
            f"{_format_hundredths(line.pending)} pending; its grades "
            f"come to {_format_hundredths(line.graded_points)} and "
            f"{_format_hundredths(line.graded_pending)} pending."
        )
    return ""


def _format_hundredths(hundredths: object) -> str:
    """Hundredths as points; anything but a number is shown unchanged."""
    if not isinstance(hundredths, int | Decimal):
        return repr(hundredths)
    return f"{(Decimal(hundredths) / 100).normalize():f}"
