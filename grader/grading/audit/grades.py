"""Grades: each one is what the events come to, none is missing, and none has no event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import itemgetter

from grader.errors import KeysetError
from grader.grading.audit.findings import Tally
from grader.grading.audit.rules import Rules
from grader.grading.context import Published
from grader.grading.grades.settle import compute_standings, grade_line, load_events
from grader.store.database import Session
from grader.store.queries.attempts import Part
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.verification import walk_parts

# So many grades are computed at once.
_AT_ONCE = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What only says how often and when a grade changed.
_ASIDE = ("changes", "changed_at")
_ILL_FORMED = (ArithmeticError, AttributeError, KeysetError, LookupError, TypeError, ValueError)


def check_grades(session: Session, rules: Rules, tally: Tally) -> None:
    """Compute every grade anew and compare."""
    for run_id, of_run in groupby(walk_parts(session), key=itemgetter(0)):
        parts = (part for _, part in of_run)
        while some := list(islice(parts, _AT_ONCE)):
            tally.look(len(some))
            if run_id is None:
                for part in some:
                    tally.differs(_name(part), "This student is in no course run.")
            else:
                _check(session, rules, run_id, some, tally)


def _check(
    session: Session, rules: Rules, run_id: str, parts: Sequence[Part], tally: Tally
) -> None:
    assignments: dict[str, Published] = {}
    for name in {assignment for _, assignment, _ in parts}:
        published = rules.in_force(run_id, name)
        if published is not None:
            assignments[name] = published
    known = []
    for part in parts:
        if part[1] in assignments:
            known.append(part)
        else:
            tally.differs(_name(part), "Nothing is in force that it could be computed by.")
    for part, text in _compare(session, run_id, known, assignments):
        tally.differs(_name(part), text)


def _compare(
    session: Session, run_id: str, parts: Sequence[Part], assignments: dict[str, Published]
) -> list[tuple[Part, str]]:
    """All differences; where something cannot be read, one part after the other."""
    try:
        return list(_differences(session, run_id, parts, assignments))
    except _ILL_FORMED:
        if len(parts) == 1:
            return [(parts[0], "It cannot be computed from what is stored.")]
        return [each for part in parts for each in _compare(session, run_id, [part], assignments)]


def _differences(
    session: Session, run_id: str, parts: Sequence[Part], assignments: dict[str, Published]
) -> Iterator[tuple[Part, str]]:
    if not parts:
        return
    events = load_events(session, parts=parts)
    happened = {attempt.part for attempt, _ in events.judged}
    happened |= set(events.overrides) | set(events.external)
    stored = find_grades(session, parts=parts)
    for part, (standing, possible) in sorted(compute_standings(events, assignments, parts).items()):
        before = stored.get(part)
        now = grade_line(run_id, part, standing, possible, before, at=_EPOCH)
        if part not in happened:
            yield part, "There is a grade, but nothing happened that it could come from."
        elif before is None:
            yield part, f"There is no grade, but it should be {_points(now)}."
        elif wrong := _wrong(before, now):
            yield part, f"The grade is not what its events come to: {wrong}."


def _wrong(stored: GradeLine, computed: GradeLine) -> str:
    names = [each.name for each in fields(GradeLine) if each.name not in _ASIDE]
    return ", ".join(
        f"{name} is {_shown(stored, name)} and should be {_shown(computed, name)}"
        for name in names
        if getattr(stored, name) != getattr(computed, name)
    )


def _shown(line: GradeLine, name: str) -> str:
    value = getattr(line, name)
    return "nothing" if value is None else f"{value}"


def _points(line: GradeLine) -> str:
    return "without points" if line.points is None else f"{line.points:f} points"


def _name(part: Part) -> str:
    enrolment_id, assignment, question = part
    return f"{enrolment_id} at {assignment}/{question}"
