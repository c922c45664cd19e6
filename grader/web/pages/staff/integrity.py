"""Integrity: wrong answers that solve another student's variant, as evidence to look at."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import RequestRefused
from grader.grading.integrity.check import (
    CheckRun,
    IntegrityResults,
    ResemblanceEvidence,
    load_results,
    start_check,
)
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.store.queries.integrity import IntegrityCheckLine
from grader.web.ops.background import BackgroundRunner
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, FormDep
from grader.web.pages.format import format_relative_time
from grader.web.pages.rendering import PageRoute
from grader.web.service import Service

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_INTEGRITY_PATH = ASSIGNMENT_PATH + "/integrity"
#: Maximum likely coincidences listed; they are all alike.
_MAX_COINCIDENCES = 50


def _load_results(page: AssignmentPage) -> tuple[Membership, IntegrityResults]:
    with page.read() as session:
        membership = page.membership(session)
        return membership, load_results(
            session, page.grading, membership, assignment=page.assignment, at=page.at
        )


@router.get(_INTEGRITY_PATH)
def show_integrity(page: AssignmentPage) -> Response:
    """The results of the last check, the progress of a running one, and a button to start one."""
    membership, results = _load_results(page)
    with page.read() as session:
        fill = page.fill(session)
    by_question = Counter(each.found.question for each in results.accidents)
    return page.render(
        "staff/integrity.html",
        membership=membership,
        fill=fill,
        assignment_id=page.assignment,
        results=results,
        telling=[_describe_evidence(each, results) for each in results.telling],
        accidents=[
            _describe_evidence(each, results) for each in results.accidents[:_MAX_COINCIDENCES]
        ],
        by_question=sorted(by_question.items()),
        may_start=membership.role is Role.INSTRUCTOR,
    )


@router.get(_INTEGRITY_PATH + "/progress")
def show_progress(page: AssignmentPage) -> Response:
    """The progress of the running check; the whole page is reloaded when it is done."""
    membership, results = _load_results(page)
    if not page.is_htmx:
        return page.redirect(page.request.url.path.removesuffix("/progress"))
    response = page.render(
        "staff/integrity_progress.html",
        membership=membership,
        assignment_id=page.assignment,
        results=results,
    )
    if not results.is_running:
        response.headers["HX-Refresh"] = "true"
    return response


@router.post(_INTEGRITY_PATH)
async def create_integrity_check(page: AssignmentPage, form: FormDep) -> Response:
    """Start a check in the background, unless one of this assignment is running already."""
    background: BackgroundRunner = page.request.app.state.background
    await run_in_threadpool(_refuse_non_instructors, page)
    if not background.reserve():
        _, results = await run_in_threadpool(_load_results, page)
        if results.is_running:
            return page.redirect()
        raise RequestRefused(
            "Another check is running. Start this one when it has finished.",
            code="integrity.busy",
        )
    check = None
    try:
        check = await page.write(
            lambda session: start_check(
                session,
                page.grading,
                page.membership(session),
                assignment=page.assignment,
                at=page.at,
            )
        )
    finally:
        if check is None:
            background.release()
    if check is not None:
        background.start(partial(_run_check, page.service, check))
    return page.redirect()


def _run_check(service: Service, check: IntegrityCheckLine, should_end: Any) -> None:
    write = service.writer.run_now
    CheckRun(service.database, write, service.context, service.clock, should_end, check).run()


def _refuse_non_instructors(page: AssignmentPage) -> None:
    with page.read() as session:
        page.membership(session, Role.INSTRUCTOR)


def _describe_evidence(evidence: ResemblanceEvidence, results: IntegrityResults) -> dict[str, Any]:
    """A resemblance with its probability and time difference in words."""
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
    """A probability in words; with `is_bound` it is an upper bound."""
    if probability >= 0.5:
        return "unknown" if is_bound else "more likely than not"
    if probability <= 0:
        return "almost zero"
    return f"{'less than' if is_bound else 'about'} 1 in {_round_down(1 / probability):,}"


def _format_chance_for_any(chance: CoincidenceRate) -> str:
    """The chance of solving at least one other variant by accident."""
    return format_chance(chance.for_any, is_bound=chance.is_bound)


def _format_chance_for_one(chance: CoincidenceRate) -> str:
    """The chance of solving one given variant by accident."""
    one = chance.bound_for_one if chance.is_bound else chance.for_one
    return format_chance(one, is_bound=chance.is_bound)


def format_time_difference(moment: datetime, other: datetime) -> str:
    """How much earlier or later another moment is: 2 h 13 min earlier."""
    text = format_relative_time(other, moment)
    if text.endswith(" ago"):
        return text.removesuffix(" ago") + " earlier"
    return text.removeprefix("in ") + " later"


def _round_down(number: float) -> int:
    """Round down to two digits, so that nothing appears rarer than it is."""
    whole = int(number)
    step = int(10 ** max(len(str(whole)) - 2, 0))
    return whole // step * step
