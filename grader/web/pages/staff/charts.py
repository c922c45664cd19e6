"""Pictures of statistics, each with the rows of the table that stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from markupsafe import Markup

from grader.drawing.bars import Column, Mark, draw_columns
from grader.drawing.steps import draw_steps
from grader.grading.analytics.models import AssignmentStatistics, AttemptsToSolve
from grader.web.pages.staff import figures

#: More columns than this cannot be told apart.
_MOST_COLUMNS = 120
#: So many hours one column may stand for.
_WIDTHS = (1, 2, 3, 6, 12, 24, 48, 168)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Posts:
    """Attempts in stretches of so many hours: the picture, and all stretches with any."""

    drawing: Markup
    hours: int
    rows: tuple[tuple[datetime, int, bool], ...]
    """When a stretch begins, how many attempts it has, and whether it begins after the due date."""
    busiest: tuple[datetime, int]


def draw_posts(statistics: AssignmentStatistics, *, time_zone: str) -> Posts | None:
    """When attempts arrived, against the due date; None where there are none."""
    if not statistics.hours:
        return None
    due_at = statistics.due_at
    first, last = statistics.hours[0].hour, statistics.hours[-1].hour
    # A due date far from all attempts would press them into a corner.
    if due_at is not None and last < due_at <= last + max(_HOUR * 24, (last - first) / 2):
        last = due_at
    count = int((last - first) / _HOUR) + 1
    hours = next((each for each in _WIDTHS if count / each <= _MOST_COLUMNS), _WIDTHS[-1])
    counts = [0] * (-(-count // hours))
    for each in statistics.hours:
        counts[int((each.hour - first) / _HOUR) // hours] += each.attempts
    begins = [first + place * hours * _HOUR for place in range(len(counts))]
    busiest = max(zip(begins, counts, strict=True), key=lambda item: item[1])
    columns = [
        Column(_day(begin, time_zone), count) for begin, count in zip(begins, counts, strict=True)
    ]
    mark = None
    if due_at is not None and first <= due_at <= last + _HOUR * hours:
        mark = Mark("due", (due_at - first) / (_HOUR * hours))
    summary = (
        f"{figures.many(statistics.attempts, 'attempt')}, "
        f"most of them ({busiest[1]}) from {_moment(busiest[0], time_zone)} on. "
        f"{figures.many(statistics.late_attempts, 'attempt')} came late."
    )
    drawing = draw_columns(
        columns,
        name="posts",
        title="When attempts arrived",
        summary=summary,
        below="attempts per hour" if hours == 1 else f"attempts in each {hours} hours",
        mark=mark,
    )
    rows = tuple(
        (begin, count, due_at is not None and begin > due_at)
        for begin, count in zip(begins, counts, strict=True)
        if count
    )
    # It is made of numbers and of our own words.
    return Posts(Markup(drawing), hours, rows, busiest)


def _day(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%-d %b}"


def _moment(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%-d %b %H:%M}"


def draw_survival(solving: AttemptsToSolve) -> Markup | None:
    """The share without a solution after each attempt; None where nobody has tried."""
    if not solving.steps:
        return None
    last = solving.steps[-1]
    summary = (
        f"{figures.share(solving.steps[0].unsolved)} are without a solution after the first "
        f"attempt, {figures.share(last.unsolved)} after attempt {last.attempt}. "
        f"{solving.censored} of {figures.many(solving.n, 'student')} stopped without one."
    )
    drawing = draw_steps(
        [each.unsolved for each in solving.steps],
        name="solving",
        title="Without a solution after so many attempts",
        summary=summary,
        below="attempts",
    )
    return Markup(drawing)
