"""Analytics for staff: an assignment, one of its questions, and the attempts behind a number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query, Response
from markupsafe import Markup

from grader.domain.fairness import Group
from grader.domain.roles import Role
from grader.domain.statistics import LOW_DISCRIMINATION, MIN_STUDENTS, AttemptsToSolve
from grader.domain.verdicts import Outcome
from grader.drawing.charts import Bar, ReferenceLine, draw_bar_chart, draw_step_chart
from grader.engine.confidence import compute_wilson_interval
from grader.engine.question import Criterion
from grader.grading.analytics.drilldown import AttemptFilter, list_filtered_attempts
from grader.grading.analytics.models import AssignmentStatistics
from grader.grading.analytics.question import load_assignment_analysis, load_question_analysis
from grader.web.auth import COURSEWORK_COST
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, QuestionPage
from grader.web.pages.rendering import PageRoute
from grader.web.pages.staff import statistics_text as text
from grader.web.pagination import Cursor, decode_cursor, encode_cursor

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ANALYTICS_PATH = ASSIGNMENT_PATH + "/analytics"
_QUESTION_PATH = _ANALYTICS_PATH + "/{question}"
_PAGE = 100
_NameQuery = Annotated[str | None, Query(max_length=200)]


@router.get(_ANALYTICS_PATH)
def show_analytics(page: AssignmentPage) -> Response:
    """How students did on an assignment: a row per question, and when attempts arrived."""
    with page.read(cost=COURSEWORK_COST) as session:
        membership = page.membership(session, Role.ASSISTANT)
        kept = load_assignment_analysis(
            session, page.grading, membership, assignment=page.assignment, at=page.at
        )
        fill = page.fill(session)
    statistics = kept.value.statistics
    return page.render(
        "staff/analytics.html",
        membership=membership,
        fill=fill,
        figure=text,
        assignment=page.assignment,
        statistics=statistics,
        as_of=kept.at,
        posts=_draw_arrivals(statistics, time_zone=membership.run.time_zone),
        fewest=MIN_STUDENTS,
        dubious_below=LOW_DISCRIMINATION,
    )


@router.get(_QUESTION_PATH)
def show_question_analytics(page: QuestionPage) -> Response:
    """How students did on one question: figures, wrong answers, and the fairness of draws."""
    with page.read(cost=COURSEWORK_COST) as session:
        found = load_question_analysis(
            session,
            page.grading,
            membership := page.membership(session, Role.ASSISTANT),
            assignment=page.assignment,
            question=page.question,
            at=page.at,
        )
        fill = page.fill(session)
    solving = found.statistics.attempts_to_solve
    return page.render(
        "staff/question_analytics.html",
        membership=membership,
        fill=fill,
        figure=text,
        assignment=page.assignment,
        title=found.analysis.value.statistics.title,
        rubric=found.rubric,
        of=found.statistics,
        unexplained=found.unexplained,
        fairness=found.fairness.value,
        interval=_format_interval,
        as_of=min(found.analysis.at, found.fairness.at),
        solving=_draw_survival(solving) if solving else None,
        titles=_list_criterion_titles(found.rubric.question.criteria),
        outcomes=[each.value for each in Outcome],
        fewest=MIN_STUDENTS,
    )


def _list_criterion_titles(criteria: tuple[Criterion, ...]) -> dict[str, str]:
    return {each.id: each.title for each in criteria}


def _format_interval(group: Group) -> str:
    found = compute_wilson_interval(group.solved, group.students, 1.96)
    return f"{text.format_share(found.low)} to {text.format_share(found.high)}"


@router.get(_QUESTION_PATH + "/attempts")
def show_drilldown(
    page: QuestionPage,
    misconception: _NameQuery = None,
    group: _NameQuery = None,
    criterion: _NameQuery = None,
    outcome: Outcome | None = None,
    first: bool = False,
    unsolved: bool = False,
    waiting: bool = False,
    cursor: Cursor = None,
) -> Response:
    """The attempts behind a number, a page at a time."""
    filters = AttemptFilter(
        misconception=misconception,
        group=group,
        criterion=criterion,
        outcome=outcome.value if outcome else None,
        is_first=first,
        is_unsolved=unsolved,
        needs_person=waiting,
    )
    after = decode_cursor(cursor, str, str)
    with page.read(cost=COURSEWORK_COST) as session:
        membership = page.membership(session, Role.ASSISTANT)
        found = list_filtered_attempts(
            session,
            page.grading,
            membership,
            assignment=page.assignment,
            question=page.question,
            condition=filters,
            after=(str(after[0]), str(after[1])) if after else None,
            limit=_PAGE,
        )
        title = page.published(session).form.title
    url = page.request.url
    next_query = None
    if found.has_more:
        next_query = url.include_query_params(cursor=encode_cursor(*found.rows[-1].place)).query
    return page.render(
        "staff/drilldown.html",
        membership=membership,
        figure=text,
        assignment=page.assignment,
        title=title,
        page=found,
        filters=filters,
        titles=_list_criterion_titles(found.rubric.question.criteria),
        first_page=str(url.remove_query_params("cursor").query),
        next=next_query,
        is_first=after is None,
    )


#: Narrower columns could not be told apart.
_MAX_COLUMNS = 120
#: The hours per column to choose from.
_COLUMN_HOURS = (1, 2, 3, 6, 12, 24, 48, 168)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _ArrivalsChart:
    """Attempts per column of `hours` hours: the chart, and its columns that are not empty."""

    drawing: Markup
    hours: int
    rows: tuple[tuple[datetime, int, bool], ...]
    """The start of a column, its number of attempts, and whether it starts after the due date."""
    busiest: tuple[datetime, int]


def _draw_arrivals(statistics: AssignmentStatistics, *, time_zone: str) -> _ArrivalsChart | None:
    """When attempts arrived, with the due date; None without attempts."""
    if not statistics.hours:
        return None
    due_at = statistics.due_at
    first, last = statistics.hours[0].hour, statistics.hours[-1].hour
    # A due date far from all attempts would squeeze them into a corner.
    if due_at is not None and last < due_at <= last + max(_HOUR * 24, (last - first) / 2):
        last = due_at
    count = int((last - first) / _HOUR) + 1
    hours = next(
        (each for each in _COLUMN_HOURS if count / each <= _MAX_COLUMNS), _COLUMN_HOURS[-1]
    )
    counts = [0] * (-(-count // hours))
    for each in statistics.hours:
        counts[int((each.hour - first) / _HOUR) // hours] += each.attempts
    begins = [first + index * hours * _HOUR for index in range(len(counts))]
    busiest = max(zip(begins, counts, strict=True), key=lambda item: item[1])
    columns = [
        Bar(_format_day(begin, time_zone), count)
        for begin, count in zip(begins, counts, strict=True)
    ]
    mark = None
    if due_at is not None and first <= due_at <= last + _HOUR * hours:
        mark = ReferenceLine("due", (due_at - first) / (_HOUR * hours))
    summary = (
        f"{text.format_count(statistics.attempts, 'attempt')}, "
        f"most of them ({busiest[1]}) from {_format_moment(busiest[0], time_zone)} on. "
        f"{text.format_count(statistics.late_attempts, 'attempt')} came late."
    )
    drawing = draw_bar_chart(
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
    # The drawing contains only numbers and fixed text.
    return _ArrivalsChart(Markup(drawing), hours, rows, busiest)


def _format_day(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%-d %b}"


def _format_moment(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%-d %b %H:%M}"


def _draw_survival(solving: AttemptsToSolve) -> Markup | None:
    """The share of students without a solution after each attempt; None without attempts."""
    if not solving.steps:
        return None
    last = solving.steps[-1]
    summary = (
        f"{text.format_share(solving.steps[0].unsolved)} have no solution after the first "
        f"attempt, {text.format_share(last.unsolved)} after attempt {last.attempt}. "
        f"{solving.censored} of {text.format_count(solving.n, 'student')} stopped without one."
    )
    drawing = draw_step_chart(
        [each.unsolved for each in solving.steps],
        name="solving",
        title="Students without a solution, by number of attempts",
        summary=summary,
        below="attempts",
    )
    return Markup(drawing)
