"""Integrity: which wrong answers solve somebody else's variant; evidence and no accusation."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import enter, enter_as
from grader.domain.roles import Role
from grader.errors import Refused
from grader.grading.integrity.check import Checking, start_check
from grader.grading.integrity.results import Evidence, Results, load_results
from grader.store.database import Session
from grader.store.queries.integrity import CheckLine
from grader.web.api.courses import Assignment
from grader.web.auth import CourseId
from grader.web.ops.background import Background
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render, wants_part
from grader.web.pages.staff.chances import say_apart, say_for_any, say_for_one
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_INTEGRITY = "/courses/{course}/assignments/{assignment}/integrity"
#: So many of the resemblances that say nothing are listed; they are alike.
_MOST_ACCIDENTS = 50


@router.get(_INTEGRITY)
def show_integrity(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """What the last check has found, how far one is that runs, and a button to start one."""
    with service.database.read() as session:
        place = enter(session, visitor.caller, run_id=course)
        results = load_results(session, service.desk, place, assignment=assignment, at=at)
    by_question = Counter(each.found.question for each in results.accidents)
    return render(
        request,
        "integrity.html",
        visitor=visitor,
        place=place,
        assignment_id=assignment,
        results=results,
        telling=[_tell(each, results) for each in results.telling],
        accidents=[_tell(each, results) for each in results.accidents[:_MOST_ACCIDENTS]],
        by_question=sorted(by_question.items()),
        may_start=place.role is Role.INSTRUCTOR,
    )


@router.get(_INTEGRITY + "/progress")
def show_progress(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How far the check is: a part of the page, which is loaded anew when it is done."""
    with service.database.read() as session:
        place = enter(session, visitor.caller, run_id=course)
        results = load_results(session, service.desk, place, assignment=assignment, at=at)
    if not wants_part(request):
        # Whoever comes here by the address wants the page that it is a part of.
        return RedirectResponse(request.url.path.removesuffix("/progress"), status_code=303)
    page = render(
        request,
        "parts/integrity_progress.html",
        place=place,
        assignment_id=assignment,
        results=results,
    )
    if not results.is_running:
        page.headers["HX-Refresh"] = "true"
    return page


@router.post(_INTEGRITY)
async def begin_check(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Start a check in the background, unless one of this assignment runs already."""
    background: Background = request.app.state.background
    await run_in_threadpool(_refuse_others, service, visitor, course)
    back = RedirectResponse(request.url.path, status_code=303)
    if not background.reserve():
        if await run_in_threadpool(_is_running, service, visitor, course, assignment, at):
            return back
        raise Refused(
            "Another check is under way; this one can be started when it is done.",
            code="integrity.busy",
        )

    def start(session: Session) -> CheckLine | None:
        place = enter(session, visitor.caller, run_id=course)
        return start_check(session, service.desk, place, assignment=assignment, at=at)

    check = None
    try:
        check = await service.writer.run(start)
    finally:
        if check is None:
            background.release()
    if check is not None:
        background.start(partial(_work, service, check))
    return back


def _work(service: Service, check: CheckLine, should_end: Any) -> None:
    write = service.writer.run_now
    Checking(service.database, write, service.desk, service.clock, should_end, check).run()


def _refuse_others(service: Service, visitor: Visitor, course: str) -> None:
    with service.database.read() as session:
        enter_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)


def _is_running(service: Service, visitor: Visitor, course: str, assignment: str, at: Any) -> bool:
    with service.database.read() as session:
        place = enter(session, visitor.caller, run_id=course)
        return load_results(session, service.desk, place, assignment=assignment, at=at).is_running


def _tell(evidence: Evidence, results: Results) -> dict[str, Any]:
    """A resemblance with its chance and times in words."""
    found, chance = evidence.found, evidence.chance
    rubric = results.published.assignment.rubrics.get(found.question)
    apart = ""
    if found.other_received_at is not None:
        apart = say_apart(found.received_at, found.other_received_at)
    return {
        "found": found,
        "chance": chance,
        "title": rubric.form.title if rubric else "",
        "for_any": say_for_any(chance),
        "for_one": say_for_one(chance),
        "apart": apart,
    }
