"""Question analytics for staff: an assignment, one of its questions, the attempts behind it all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from grader.accounts.callers import enter_as
from grader.domain.fairness import Group
from grader.domain.roles import Role
from grader.domain.statistics import DUBIOUS_BELOW, FEWEST_STUDENTS
from grader.domain.verdicts import Outcome
from grader.engine.confidence import wilson
from grader.engine.question import Criterion
from grader.grading.analytics.drilldown import AttemptPage, Wanted, list_behind
from grader.grading.analytics.question import analyse_assignment, analyse_question
from grader.web.api.courses import Assignment, Question
from grader.web.auth import CourseId
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.pages.staff import figures
from grader.web.pages.staff.charts import draw_posts, draw_survival
from grader.web.pagination import Cursor, decode_cursor, encode_cursor
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ANALYTICS = "/courses/{course}/assignments/{assignment}/analytics"
_QUESTION = _ANALYTICS + "/{question}"
_PAGE = 100
_Named = Annotated[str | None, Query(max_length=200)]


@router.get(_ANALYTICS)
def show_analytics(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How students did on an assignment: one row for each question, and when attempts came."""
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        kept = analyse_assignment(session, service.desk, place, assignment=assignment, at=at)
    statistics = kept.value.statistics
    return render(
        request,
        "analytics.html",
        visitor=visitor,
        place=place,
        figure=figures,
        assignment=assignment,
        statistics=statistics,
        as_of=kept.at,
        posts=draw_posts(statistics, time_zone=place.run.time_zone),
        fewest=FEWEST_STUDENTS,
        dubious_below=DUBIOUS_BELOW,
    )


@router.get(_QUESTION)
def show_question_analytics(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    question: Question,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How students did on one question: figures, wrong answers, and whether draws are fair."""
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        found = analyse_question(
            session, service.desk, place, assignment=assignment, question=question, at=at
        )
    solving = found.statistics.attempts_to_solve
    return render(
        request,
        "question_analytics.html",
        visitor=visitor,
        place=place,
        figure=figures,
        assignment=assignment,
        title=found.analysis.value.statistics.title,
        rubric=found.rubric,
        of=found.statistics,
        unexplained=found.unexplained,
        fairness=found.fairness.value,
        interval=_interval,
        as_of=min(found.analysis.at, found.fairness.at),
        solving=draw_survival(solving) if solving else None,
        titles=_titles(found.rubric.question.criteria),
        outcomes=[each.value for each in Outcome],
        fewest=FEWEST_STUDENTS,
    )


def _titles(criteria: tuple[Criterion, ...]) -> dict[str, str]:
    return {each.id: each.title for each in criteria}


def _interval(group: Group) -> str:
    found = wilson(group.solved, group.students, 1.96)
    return f"{figures.share(found.low)} to {figures.share(found.high)}"


@router.get(_QUESTION + "/attempts")
def show_attempts_behind(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    question: Question,
    visitor: VisitorDep,
    service: ServiceDep,
    misconception: _Named = None,
    group: _Named = None,
    criterion: _Named = None,
    outcome: Outcome | None = None,
    first: bool = False,
    unsolved: bool = False,
    waiting: bool = False,
    cursor: Cursor = None,
) -> Response:
    """The attempts behind a number, a page at a time."""
    wanted = Wanted(
        misconception=misconception,
        group=group,
        criterion=criterion,
        outcome=outcome.value if outcome else None,
        is_first=first,
        is_unsolved=unsolved,
        needs_person=waiting,
    )
    after = decode_cursor(cursor, str, str)
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        page = list_behind(
            session,
            service.desk,
            place,
            assignment=assignment,
            question=question,
            wanted=wanted,
            after=(str(after[0]), str(after[1])) if after else None,
            limit=_PAGE,
        )
        title = service.desk.in_force(session, run_id=course, assignment=assignment).form.title
    return render(
        request,
        "attempts_behind.html",
        visitor=visitor,
        place=place,
        figure=figures,
        assignment=assignment,
        title=title,
        page=page,
        wanted=wanted,
        titles=_titles(page.rubric.question.criteria),
        first_page=str(request.url.remove_query_params("cursor").query),
        next=_next(request, page),
        is_first=after is None,
    )


def _next(request: Request, page: AttemptPage) -> str | None:
    if not page.has_more:
        return None
    return request.url.include_query_params(cursor=encode_cursor(*page.rows[-1].place)).query
