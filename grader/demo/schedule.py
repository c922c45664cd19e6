"""When the demo's assignments open and are due, seen from the day on which it is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from grader.demo.behaviour import ScheduledAssignment
from grader.rubric.catalog import Catalog, CompiledAssignment

ZONE = ZoneInfo("Europe/Warsaw")


@dataclass(frozen=True, slots=True)
class _Days:
    opens: int
    due: int
    starters: float


#: In days from now. The first is past its due date and still taken late for a while.
_DAYS = {
    "self-attention-and-transformers": _Days(-16, -2, 0.9),
    "single-head-attention": _Days(-12, 7, 0.55),
    "attention-exploration": _Days(-8, 14, 0.3),
}


def compute_midnight(now: datetime) -> datetime:
    """When today began: all that was done was done before, so that the hour changes nothing.

    Times with this zone are counted by the clock on the wall.
    """
    return datetime.combine(now.astimezone(ZONE).date(), time(0), ZONE)


def make_schedule(catalog: Catalog, *, today: datetime) -> list[ScheduledAssignment]:
    """The three assignments with their time, in the order in which they open."""
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
