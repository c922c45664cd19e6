"""Two attempts at a question beside each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from grader.grading.attempts.compare import NumberDifferences, compare_attempts
from grader.grading.attempts.find import get_visible_attempt, load_attempt_report
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.params import AttemptId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/differences")
def choose_attempts(
    visitor: VisitorDep,
    first: Annotated[str, Query(max_length=40, pattern=r"^\w+$")],
    second: Annotated[str, Query(max_length=40, pattern=r"^\w+$")],
) -> Response:
    """From a form with two attempts to the page that has both."""
    return RedirectResponse(f"/attempts/{first}/difference/{second}", status_code=303)


@router.get("/attempts/{attempt_id}/difference/{other_id}")
def show_difference(
    request: Request,
    attempt_id: AttemptId,
    other_id: AttemptId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """What was sent otherwise, and what became of it."""
    with service.database.read() as session:
        pair = [
            get_visible_attempt(session, service.context, visitor.caller, attempt_id=each)
            for each in (attempt_id, other_id)
        ]
        reports = [load_attempt_report(session, service.context, each, at=at) for each in pair]
        fields = compare_attempts(session, service.context, *pair)
    return render(
        request,
        "difference.html",
        visitor=visitor,
        membership=pair[0].membership,
        rubric=pair[0].published.rubric(pair[0].attempt.question),
        first=reports[0],
        second=reports[1],
        fields=[(each, isinstance(each.how, NumberDifferences)) for each in fields],
    )
