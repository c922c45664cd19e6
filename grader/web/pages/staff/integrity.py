"""Integrity: which wrong answers solve somebody else's variant; evidence and no accusation."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import get_membership, get_membership_as
from grader.domain.roles import Role
from grader.errors import RequestRefused
from grader.grading.integrity.check import CheckRun, start_check
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.grading.integrity.results import IntegrityResults, ResemblanceEvidence, load_results
from grader.store.database import Session
from grader.store.queries.integrity import IntegrityCheckLine
from grader.web.ops.background import BackgroundRunner
from grader.web.pages.format import format_relative_time
from grader.web.pages.rendering import (
    FormDep,
    PageRoute,
    Visitor,
    VisitorDep,
    is_htmx_request,
    render,
)
from grader.web.params import AssignmentId, CourseId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_INTEGRITY = "/courses/{course}/assignments/{assignment}/integrity"
#: So many of the resemblances that say nothing are listed; they are alike.
_MAX_COINCIDENCES = 50


@router.get(_INTEGRITY)
def show_integrity(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """What the last check has found, how far one is that runs, and a button to start one."""
    with service.database.read() as session:
        membership = get_membership(session, visitor.caller, run_id=course)
        results = load_results(session, service.context, membership, assignment=assignment, at=at)
    by_question = Counter(each.found.question for each in results.accidents)
    return render(
        request,
        "integrity.html",
        visitor=visitor,
        membership=membership,
        assignment_id=assignment,
        results=results,
        telling=[_describe_evidence(each, results) for each in results.telling],
        accidents=[
            _describe_evidence(each, results) for each in results.accidents[:_MAX_COINCIDENCES]
        ],
        by_question=sorted(by_question.items()),
        may_start=membership.role is Role.INSTRUCTOR,
    )


@router.get(_INTEGRITY + "/progress")
def show_progress(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How far the check is: a part of the page, which is loaded anew when it is done."""
    with service.database.read() as session:
        membership = get_membership(session, visitor.caller, run_id=course)
        results = load_results(session, service.context, membership, assignment=assignment, at=at)
    if not is_htmx_request(request):
        # Whoever comes here by the address wants the page that it is a part of.
        return RedirectResponse(request.url.path.removesuffix("/progress"), status_code=303)
    page = render(
        request,
        "parts/integrity_progress.html",
        membership=membership,
        assignment_id=assignment,
        results=results,
    )
    if not results.is_running:
        page.headers["HX-Refresh"] = "true"
    return page


@router.post(_INTEGRITY)
async def create_integrity_check(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Start a check in the background, unless one of this assignment runs already."""
    background: BackgroundRunner = request.app.state.background
    await run_in_threadpool(_refuse_non_instructors, service, visitor, course)
    back = RedirectResponse(request.url.path, status_code=303)
    if not background.reserve():
        if await run_in_threadpool(_is_running, service, visitor, course, assignment, at):
            return back
        raise RequestRefused(
            "Another check is under way; this one can be started when it is done.",
            code="integrity.busy",
        )

    def start(session: Session) -> IntegrityCheckLine | None:
        membership = get_membership(session, visitor.caller, run_id=course)
        return start_check(session, service.context, membership, assignment=assignment, at=at)

    check = None
    try:
        check = await service.writer.run(start)
    finally:
        if check is None:
            background.release()
    if check is not None:
        background.start(partial(_run_check, service, check))
    return back


def _run_check(service: Service, check: IntegrityCheckLine, should_end: Any) -> None:
    write = service.writer.run_now
    CheckRun(service.database, write, service.context, service.clock, should_end, check).run()


def _refuse_non_instructors(service: Service, visitor: Visitor, course: str) -> None:
    with service.database.read() as session:
        get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)


def _is_running(service: Service, visitor: Visitor, course: str, assignment: str, at: Any) -> bool:
    with service.database.read() as session:
        membership = get_membership(session, visitor.caller, run_id=course)
        return load_results(
            session, service.context, membership, assignment=assignment, at=at
        ).is_running


def _describe_evidence(evidence: ResemblanceEvidence, results: IntegrityResults) -> dict[str, Any]:
    """A resemblance with its chance and times in words."""
    found, chance = evidence.found, evidence.chance
    rubric = results.published.assignment.rubrics.get(found.question)
    apart = ""
    if found.other_received_at is not None:
        apart = format_time_difference(found.received_at, found.other_received_at)
    return {
        "found": found,
        "chance": chance,
        "title": rubric.form.title if rubric else "",
        "for_any": _format_chance_for_any(chance),
        "for_one": _format_chance_for_one(chance),
        "apart": apart,
    }


def format_chance(probability: float, *, is_bound: bool = False) -> str:
    """A probability as people say it; with `is_bound` it is known to be smaller."""
    if probability >= 0.5:
        return "not known" if is_bound else "more likely than not"
    if probability <= 0:
        return "next to none"
    return f"{'less than' if is_bound else 'about'} 1 in {_round_down(1 / probability):,}"


def _format_chance_for_any(chance: CoincidenceRate) -> str:
    """How probable it is to solve at least one of the others' variants by accident."""
    return format_chance(chance.for_any, is_bound=chance.is_bound)


def _format_chance_for_one(chance: CoincidenceRate) -> str:
    """The same for the variant of one student."""
    one = chance.bound_for_one if chance.is_bound else chance.for_one
    return format_chance(one, is_bound=chance.is_bound)


def format_time_difference(moment: datetime, other: datetime) -> str:
    """How much earlier or later another moment is: 2 h 13 min earlier."""
    said = format_relative_time(other, moment)
    if said.endswith(" ago"):
        return said.removesuffix(" ago") + " earlier"
    return said.removeprefix("in ") + " later"


def _round_down(number: float) -> int:
    """To two digits, and never up, so that nothing is said to be rarer than it is."""
    whole = int(number)
    step = int(10 ** max(len(str(whole)) - 2, 0))
    return whole // step * step
