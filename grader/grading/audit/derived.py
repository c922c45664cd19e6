"""What is kept twice for speed is what it comes from: totals of grades, logins of people."""

from __future__ import annotations

from decimal import Decimal

from grader.grading.audit.findings import Tally
from grader.store.database import Session
from grader.store.queries.derived import KeptTotal, walk_renamed, walk_totals


def check_derived(session: Session, tally: Tally) -> None:
    """Add every student's grades up anew and compare; so, too, the logins that rosters go by."""
    for line in walk_totals(session):
        tally.look()
        if wrong := _wrong(line):
            tally.differs(f"{line.enrolment_id} at {line.assignment}", wrong)
    for enrolment_id, kept, right in walk_renamed(session):
        tally.look()
        tally.differs(enrolment_id, f"The roster says {kept!r}, but the person is {right!r}.")


def _wrong(line: KeptTotal) -> str:
    if line.run_id is None:
        return f"There is no total, but it should be {_points(line.graded_points)}."
    if line.graded_run_id is None:
        return "There is a total, but no grade that it could come from."
    if line.run_id != line.graded_run_id:
        return "The total is of another course run than the grades."
    if (line.points, line.pending) != (line.graded_points, line.graded_pending):
        return (
            f"The total is {_points(line.points)} and {_points(line.pending)} pending; its grades "
            f"come to {_points(line.graded_points)} and {_points(line.graded_pending)} pending."
        )
    return ""


def _points(hundredths: object) -> str:
    """Points as they are read; what is no number at all is shown as it is."""
    if not isinstance(hundredths, int | Decimal):
        return repr(hundredths)
    return f"{(Decimal(hundredths) / 100).normalize():f}"
