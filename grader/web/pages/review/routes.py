"""Reviewing in the browser: how far it is, the next attempt, and one attempt on the desk."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
from grader.errors import MalformedRequest, OutdatedVersion, Unavailable
from grader.grading.reviews.claims import claim_attempt, claim_next, release_claim
from grader.grading.reviews.queue import ReviewQueue, load_progress, load_queue, may_show_names
from grader.grading.reviews.review import load_review_tasks
from grader.grading.reviews.save import save_reviews
from grader.store.database import Session
from grader.store.queries.decisions import ClaimLine, find_claim, list_claims
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem
from grader.web.pages.rendering import (
    FormDep,
    PageRoute,
    Visitor,
    VisitorDep,
    is_htmx_request,
    render,
)
from grader.web.pages.review.form import read_decisions
from grader.web.pages.review.sheet import (
    ReviewPath,
    ReviewSheet,
    SavedReview,
    enter_as_reviewer,
    find_saved_review,
    get_attempt_to_review,
    load_holder_name,
    load_review_sheet,
)
from grader.web.params import AssignmentId, AttemptId, CourseId, QuestionId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_REVIEW = "/courses/{course}/assignments/{assignment}/review"
_ATTEMPT = _REVIEW + "/{question}/{attempt_id}"

#: An attempt that somebody comes from.
PreviousAttempt = Annotated[str | None, Query(max_length=64)]


def _make_review_path(
    course: CourseId, assignment: AssignmentId, question: QuestionId, attempt_id: AttemptId
) -> ReviewPath:
    """The attempt that an address leads to."""
    return ReviewPath(course, assignment, question, attempt_id)


ReviewPathDep = Annotated[ReviewPath, Depends(_make_review_path)]


@router.get(_REVIEW)
def show_review_progress(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How far the reviews are, question by question, and who is at work."""
    with service.database.read() as session:
        membership = enter_as_reviewer(session, visitor, course)
        progress = load_progress(session, service.context, membership, assignment=assignment, at=at)
        has_names = may_show_names(
            session, progress.published, membership, waiting=progress.waiting, at=at
        )
    return render(
        request,
        "review.html",
        visitor=visitor,
        membership=membership,
        assignment=assignment,
        progress=progress,
        has_names=has_names,
    )


@router.get(_REVIEW + "/{question}")
async def open_next_attempt(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
    after: PreviousAttempt = None,
    saved: PreviousAttempt = None,
) -> Response:
    """Lead to an attempt that waits and that nobody else holds, or say that there is none."""

    def look() -> ReviewQueue:
        with service.database.read() as session:
            membership = enter_as_reviewer(session, visitor, course)
            return load_queue(
                session, service.context, membership, assignment=assignment, question=question
            )

    queue = await run_in_threadpool(look)

    def take(session: Session) -> str | None:
        membership = enter_as_reviewer(session, visitor, course)
        return claim_next(session, membership, queue.waiting_for(membership, after=after), at=at)

    found = await service.writer.run(take)
    if found is not None:
        path = ReviewPath(course, assignment, question, found).path
        more = f"?{urlencode({'saved': saved})}" if saved else ""
        return RedirectResponse(path + more, status_code=303)
    return await run_in_threadpool(
        _render_queue_end, request, visitor, service, course, queue, saved, at=at
    )


def _find_saved(
    session: Session, service: Service, membership: Membership, here: ReviewPath, saved: str | None
) -> SavedReview | None:
    """What was saved of the attempt that somebody comes from."""
    if saved is None:
        return None
    return find_saved_review(session, service, membership, replace(here, attempt_id=saved))


def _render_queue_end(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    queue: ReviewQueue,
    saved: str | None,
    *,
    at: datetime,
) -> Response:
    here = ReviewPath(course, queue.published.line.assignment, queue.question, "")
    with service.database.read() as session:
        membership = enter_as_reviewer(session, visitor, course)
        waiting = {each.attempt.id for each in queue.waiting_for(membership)}
        holders = [
            (load_holder_name(session, each), each.until)
            for each in list_claims(session, run_id=course, at=at)
            if each.attempt_id in waiting
        ]
        earlier = _find_saved(session, service, membership, here, saved)
    return render(
        request,
        "review_end.html",
        visitor=visitor,
        membership=membership,
        queue=queue,
        rubric=queue.published.rubric(queue.question),
        own=len(queue.entries) - queue.done - len(waiting),
        holders=holders,
        saved=earlier,
    )


@router.get(_ATTEMPT)
async def show_attempt_to_review(
    request: Request,
    where: ReviewPathDep,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
    saved: PreviousAttempt = None,
) -> Response:
    """An attempt on the desk; whoever opens it holds it."""

    def look() -> tuple[ReviewSheet, SavedReview | None]:
        with service.database.read() as session:
            sheet = load_review_sheet(session, service, visitor, where, at=at)
            return sheet, _find_saved(session, service, sheet.membership, where, saved)

    sheet, earlier = await run_in_threadpool(look)
    held, name = await _claim_attempt(service, visitor, where, at=at)
    return _render_sheet(request, visitor, sheet, held, name, saved=earlier)


@router.post(_ATTEMPT)
async def save_review(
    request: Request,
    where: ReviewPathDep,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Save a review and go on to the next; what cannot be saved stays in the form."""

    def save(session: Session) -> None:
        membership, _ = get_attempt_to_review(session, service, visitor, where)
        parts = load_review_tasks(session, service.context, membership, where.attempt_id)
        decisions = read_decisions(form, parts)
        save_reviews(
            session,
            service.context,
            membership,
            attempt_id=where.attempt_id,
            decisions=decisions,
            at=at,
        )

    try:
        await service.writer.run(save)
    except (MalformedRequest, OutdatedVersion, Unavailable) as error:
        problem = to_problem(error)
        return await run_in_threadpool(
            _render_unsaved, request, visitor, service, where, form, problem, at=at
        )
    goal = f"{where.queue_path}?{urlencode({'after': where.attempt_id, 'saved': where.attempt_id})}"
    if is_htmx_request(request):
        # Only now does the page go on, because only now is it certain.
        return Response(media_type="text/html", headers={"HX-Redirect": goal})
    return RedirectResponse(goal, status_code=303)


def _render_unsaved(
    request: Request,
    visitor: Visitor,
    service: Service,
    where: ReviewPath,
    form: dict[str, str],
    problem: Problem,
    *,
    at: datetime,
) -> Response:
    """The page with all that was typed, and why it was not saved."""
    with service.database.read() as session:
        sheet = load_review_sheet(session, service, visitor, where, at=at, sent=form)
        held = find_claim(session, attempt_id=where.attempt_id, at=at)
        name = load_holder_name(session, held) if held else ""
    return _render_sheet(request, visitor, sheet, held, name, problem=problem)


@router.post(_ATTEMPT + "/claim")
async def update_claim(
    request: Request,
    where: ReviewPathDep,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Hold the attempt for some minutes more, or let go of it: a part of the page."""
    held: ClaimLine | None = None
    name = ""
    if form.get("action") == "leave":

        def leave(session: Session) -> None:
            membership = enter_as_reviewer(session, visitor, where.course)
            release_claim(session, membership, attempt_id=where.attempt_id)

        await service.writer.run(leave)
    else:
        held, name = await _claim_attempt(service, visitor, where, at=at)
    return render(request, "parts/claim.html", visitor=visitor, where=where, held=held, name=name)


async def _claim_attempt(
    service: Service, visitor: Visitor, where: ReviewPath, *, at: datetime
) -> tuple[ClaimLine, str]:
    """Who holds an attempt from now on, with the name."""

    def hold(session: Session) -> tuple[ClaimLine, str]:
        membership = enter_as_reviewer(session, visitor, where.course)
        held = claim_attempt(session, membership, attempt_id=where.attempt_id, at=at)
        return held, load_holder_name(session, held)

    return await service.writer.run(hold)


def _render_sheet(
    request: Request,
    visitor: Visitor,
    sheet: ReviewSheet,
    held: ClaimLine | None,
    name: str,
    *,
    saved: SavedReview | None = None,
    problem: Problem | None = None,
) -> Response:
    return render(
        request,
        "parts/review_form.html" if is_htmx_request(request) else "review_attempt.html",
        status=problem.status if problem else 200,
        visitor=visitor,
        sheet=sheet,
        where=sheet.where,
        membership=sheet.membership,
        held=held,
        name=name,
        saved=saved,
        problem=problem,
    )
