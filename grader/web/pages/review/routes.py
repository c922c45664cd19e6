"""Reviewing in the browser: progress, the next attempt to review, and one attempt's sheet."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from grader.domain.roles import Role
from grader.errors import MalformedRequest, OutdatedVersion, Unavailable
from grader.grading.reviews.claims import claim_attempt, claim_next, release_claim
from grader.grading.reviews.queue import ReviewQueue, load_progress, load_queue, may_show_names
from grader.grading.reviews.review import load_review_tasks
from grader.grading.reviews.save import save_reviews
from grader.store.database import Session
from grader.store.queries.decisions import ClaimLine, find_claim, list_claims
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, FormDep, QuestionPage
from grader.web.pages.rendering import PageRoute
from grader.web.pages.review.form import read_decisions
from grader.web.pages.review.sheet import (
    ReviewPage,
    ReviewSheet,
    SavedReview,
    build_queue_path,
    find_saved_review,
    get_attempt_to_review,
    load_holder_name,
    load_review_sheet,
)

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_REVIEW_PATH = ASSIGNMENT_PATH + "/review"
_ATTEMPT_PATH = _REVIEW_PATH + "/{question}/{attempt_id}"

#: The attempt that was reviewed just before.
PreviousAttempt = Annotated[str | None, Query(max_length=64)]


@router.get(_REVIEW_PATH)
def show_review_progress(page: AssignmentPage) -> Response:
    """How many reviews are done, by question, and who is reviewing."""
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        progress = load_progress(
            session, page.grading, membership, assignment=page.assignment, at=page.at
        )
        has_names = may_show_names(
            session, progress.published, membership, waiting=progress.waiting, at=page.at
        )
        fill = page.fill(session)
    return page.render(
        "review/progress.html",
        membership=membership,
        fill=fill,
        assignment=page.assignment,
        progress=progress,
        has_names=has_names,
    )


@router.get(_REVIEW_PATH + "/{question}")
async def open_next_attempt(
    page: QuestionPage, after: PreviousAttempt = None, saved: PreviousAttempt = None
) -> Response:
    """Claim the next attempt that nobody else is reviewing, or show that none is left."""

    def find_queue() -> ReviewQueue:
        with page.read() as session:
            membership = page.membership(session, Role.ASSISTANT)
            return load_queue(
                session,
                page.grading,
                membership,
                assignment=page.assignment,
                question=page.question,
            )

    queue = await run_in_threadpool(find_queue)

    def claim(session: Session) -> str | None:
        membership = page.membership(session, Role.ASSISTANT)
        waiting = queue.waiting_for(membership, after=after)
        return claim_next(session, membership, waiting, at=page.at)

    attempt_id = await page.write(claim)
    if attempt_id is not None:
        query = f"?{urlencode({'saved': saved})}" if saved else ""
        return page.redirect(f"{build_queue_path(page)}/{attempt_id}{query}")
    return await run_in_threadpool(_render_queue_end, page, queue, saved)


def _render_queue_end(page: QuestionPage, queue: ReviewQueue, saved: str | None) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        waiting = {each.attempt.id for each in queue.waiting_for(membership)}
        holders = [
            (load_holder_name(session, each), each.until)
            for each in list_claims(session, run_id=page.course, at=page.at)
            if each.attempt_id in waiting
        ]
        previous = find_saved_review(session, page, membership, saved)
    return page.render(
        "review/end.html",
        membership=membership,
        queue=queue,
        rubric=queue.published.rubric(queue.question),
        own=len(queue.entries) - queue.done - len(waiting),
        holders=holders,
        saved=previous,
    )


@router.get(_ATTEMPT_PATH)
async def show_attempt_to_review(page: ReviewPage, saved: PreviousAttempt = None) -> Response:
    """An attempt with its review form; opening it claims it."""

    def load() -> tuple[ReviewSheet, SavedReview | None]:
        with page.read() as session:
            sheet = load_review_sheet(session, page)
            return sheet, find_saved_review(session, page, sheet.membership, saved)

    sheet, previous = await run_in_threadpool(load)
    claim, holder = await _claim_attempt(page)
    return _render_sheet(page, sheet, claim, holder, saved=previous)


@router.post(_ATTEMPT_PATH)
async def save_review(page: ReviewPage, form: FormDep) -> Response:
    """Save a review and go on to the next; a review that cannot be saved stays in the form."""

    def save(session: Session) -> None:
        membership, _ = get_attempt_to_review(session, page)
        tasks = load_review_tasks(session, page.grading, membership, page.attempt_id)
        save_reviews(
            session,
            page.grading,
            membership,
            attempt_id=page.attempt_id,
            decisions=read_decisions(form, tasks),
            at=page.at,
        )

    try:
        await page.write(save)
    except (MalformedRequest, OutdatedVersion, Unavailable) as error:
        return await run_in_threadpool(_render_unsaved, page, form, to_problem(error))
    query = urlencode({"after": page.attempt_id, "saved": page.attempt_id})
    target = f"{build_queue_path(page)}?{query}"
    if page.is_htmx:
        # htmx leaves the page only now that the review is stored.
        return Response(media_type="text/html", headers={"HX-Redirect": target})
    return page.redirect(target)


def _render_unsaved(page: ReviewPage, form: dict[str, str], problem: Problem) -> Response:
    """The page with the submitted form, and why it was not saved."""
    with page.read() as session:
        sheet = load_review_sheet(session, page, submitted=form)
        claim = find_claim(session, attempt_id=page.attempt_id, at=page.at)
        holder = load_holder_name(session, claim) if claim else ""
    return _render_sheet(page, sheet, claim, holder, problem=problem)


@router.post(_ATTEMPT_PATH + "/claim")
async def update_claim(page: ReviewPage, form: FormDep) -> Response:
    """Extend the claim on the attempt, or release it."""
    claim: ClaimLine | None = None
    holder = ""
    if form.get("action") == "leave":
        await page.write(
            lambda session: release_claim(
                session, page.membership(session, Role.ASSISTANT), attempt_id=page.attempt_id
            )
        )
    else:
        claim, holder = await _claim_attempt(page)
    return page.render("review/claim.html", where=page, held=claim, name=holder)


async def _claim_attempt(page: ReviewPage) -> tuple[ClaimLine, str]:
    """Claim the attempt; return the claim that is in force, and its holder's name."""

    def change(session: Session) -> tuple[ClaimLine, str]:
        membership = page.membership(session, Role.ASSISTANT)
        claim = claim_attempt(session, membership, attempt_id=page.attempt_id, at=page.at)
        return claim, load_holder_name(session, claim)

    return await page.write(change)


def _render_sheet(
    page: ReviewPage,
    sheet: ReviewSheet,
    claim: ClaimLine | None,
    holder: str,
    *,
    saved: SavedReview | None = None,
    problem: Problem | None = None,
) -> Response:
    return page.render(
        "review/form.html" if page.is_htmx else "review/attempt.html",
        status=problem.status if problem else 200,
        sheet=sheet,
        where=page,
        membership=sheet.membership,
        held=claim,
        name=holder,
        saved=saved,
        problem=problem,
    )
