"""The staff's home page: what needs attention in a course today."""

from __future__ import annotations

from fastapi import APIRouter, Response

from grader.domain.roles import Role
from grader.grading.analytics.staff_home import (
    DUE_WITHIN,
    STUCK_AFTER,
    load_dubious_questions,
    load_staff_home,
)
from grader.web.auth import COURSEWORK_COST
from grader.web.pages.context import COURSE_PATH, CoursePage
from grader.web.pages.rendering import PageRoute
from grader.web.pages.staff import statistics_text

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(COURSE_PATH)
def show_staff_home(page: CoursePage) -> Response:
    """What needs the staff of a course now; students are sent to their own page."""
    with page.read() as session:
        membership = page.membership(session)
        if not membership.is_staff:
            return page.redirect("/")
        today = load_staff_home(session, page.grading, membership, at=page.at)
        fill = page.fill(session)
    return page.render(
        "staff/home.html",
        membership=membership,
        fill=fill,
        figure=statistics_text,
        today=today,
        stuck_after=STUCK_AFTER,
        due_within_hours=int(DUE_WITHIN.total_seconds() // 3600),
    )


@router.get(COURSE_PATH + "/fill")
def show_fill(page: CoursePage) -> Response:
    """The progress of filling the course; the whole page is reloaded when it is done."""
    with page.read() as session:
        page.membership(session, Role.ASSISTANT)
        fill = page.fill(session)
    if not page.is_htmx:
        return page.redirect(page.request.url.path.removesuffix("/fill"))
    response = page.render("parts/fill.html", fill=fill)
    if fill is None:
        response.headers["HX-Refresh"] = "true"
    return response


@router.get(COURSE_PATH + "/today/questions")
def show_dubious_questions(page: CoursePage) -> Response:
    """Questions that may be faulty; with many attempts this takes seconds to compute."""
    with page.read(cost=COURSEWORK_COST) as session:
        membership = page.membership(session, Role.ASSISTANT)
        dubious = load_dubious_questions(session, page.grading, membership, at=page.at)
    return page.render(
        "staff/dubious.html" if page.is_htmx else "staff/dubious_page.html",
        membership=membership,
        figure=statistics_text,
        dubious=dubious,
    )
