"""Where staff arrive: what needs them in a course today."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from grader.accounts.callers import get_membership, get_membership_as
from grader.domain.roles import Role
from grader.grading.analytics.staff_home import (
    DUE_WITHIN,
    STUCK_AFTER,
    load_dubious_questions,
    load_staff_home,
)
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.pages.staff import statistics_text
from grader.web.params import CourseId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/courses/{course}")
def show_staff_home(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """What needs the staff of a course now; students have their own page."""
    with service.database.read() as session:
        membership = get_membership(session, visitor.caller, run_id=course)
        if not membership.is_staff:
            return RedirectResponse("/", status_code=303)
        today = load_staff_home(session, service.context, membership, at=at)
    return render(
        request,
        "today.html",
        visitor=visitor,
        membership=membership,
        figure=statistics_text,
        today=today,
        stuck_after=STUCK_AFTER,
        due_within_hours=int(DUE_WITHIN.total_seconds() // 3600),
    )


@router.get("/courses/{course}/today/questions")
def show_dubious_questions(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Dubious questions, which take seconds to find where there are many attempts."""
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        dubious = load_dubious_questions(session, service.context, membership, at=at)
    return render(
        request,
        "today_questions.html",
        visitor=visitor,
        membership=membership,
        figure=statistics_text,
        dubious=dubious,
    )
