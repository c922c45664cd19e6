"""When the demo's assignments open and are due, relative to the day the demo is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from grader.rubric.catalog import Catalog, CompiledAssignment

ZONE = ZoneInfo("Europe/Warsaw")


@dataclass(frozen=True, slots=True)
class ScheduledAssignment:
    """An assignment with its dates; students do nothing after `ends_at`, which is in the past."""

    assignment: CompiledAssignment
    opens_at: datetime
    due_at: datetime
    ends_at: datetime
    starters: float
    """The share of students who have started."""
    has_late: bool


@dataclass(frozen=True, slots=True)
class _Days:
    opens: int
    due: int
    starters: float


#: In days from now. The first one is past its due date, but still accepts late answers.
_DAYS = {
    "self-attention-and-transformers": _Days(-16, -2, 0.9),
    "single-head-attention": _Days(-12, 7, 0.55),
    "attention-exploration": _Days(-8, 14, 0.3),
}


def compute_midnight(now: datetime) -> datetime:
    """Return the start of today in the demo's time zone.

    All actions of the demo are before it, so the hour at which the demo is made does not matter.
    """
    return datetime.combine(now.astimezone(ZONE).date(), time(0), ZONE)


def make_schedule(catalog: Catalog, *, today: datetime) -> list[ScheduledAssignment]:
    """Return the three assignments with their dates, in the order in which they open."""
    return [
        _schedule_assignment(catalog.assignments[name], days, today) for name, days in _DAYS.items()
    ]


def _schedule_assignment(
    assignment: CompiledAssignment, days: _Days, today: datetime
) -> ScheduledAssignment:
    due_at = today + timedelta(days=days.due + 1, seconds=-1)
    late_days = assignment.form.late.days
    return ScheduledAssignment(
        assignment,
        opens_at=today + timedelta(days=days.opens, hours=8),
        due_at=due_at,
        ends_at=min(due_at + timedelta(days=late_days), today),
        starters=days.starters,
        has_late=late_days > 0 and due_at < today,
    )
