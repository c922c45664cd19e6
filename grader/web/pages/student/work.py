"""Students' pages about their work: courses, an assignment, an attempt, two attempts compared."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response

from grader.accounts.callers import Membership
from grader.domain.policies import Phase
from grader.grading.attempts.compare import NumberDifferences, compare_attempts
from grader.grading.attempts.find import get_visible_attempt, load_attempt_report
from grader.grading.attempts.open_questions import (
    AssignmentState,
    get_assignment,
    list_assignments_of,
)
from grader.grading.submissions.uploads import list_files
from grader.store.queries.courses import list_enrolments, list_runs
from grader.store.queries.fills import find_fill
from grader.web.auth import RECOMPUTED_COST
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, Page
from grader.web.pages.plots import draw_plots
from grader.web.pages.rendering import PageRoute
from grader.web.pages.staff.attempt import render_attempt_for_staff
from grader.web.params import AttemptId
from grader.web.totals import compute_assignment_total

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AttemptQuery = Annotated[str, Query(max_length=40, pattern=r"^\w+$")]


@router.get("/")
def show_work(page: Page) -> Response:
    """My work: all courses, with their assignments by due date."""
    with page.read() as session:
        person = page.caller.need_person()
        memberships = [
            Membership(page.caller, run, enrolment.role, enrolment)
            for enrolment, run in list_enrolments(session, person_id=person.id)
        ]
        listed = list_assignments_of(session, page.grading, memberships, at=page.at)
        # A student sees their own work only, which is never made up.
        fills = {
            each.run.id: find_fill(session, run_id=each.run.id)
            for each in memberships
            if each.is_staff
        }
        others = list_runs(session) if person.is_operator else []
    courses = []
    for membership, states in zip(memberships, listed, strict=True):
        states.sort(key=lambda state: _get_urgency(state, at=page.at))
        totals = [(state, compute_assignment_total(state)) for state in states]
        run = membership.run
        courses.append((run, membership.role, totals, fills.get(run.id)))
    known = {run.id for run, *_ in courses}
    return page.render(
        "student/work.html",
        courses=courses,
        others=[run for run in others if run.id not in known],
    )


def _get_urgency(state: AssignmentState, *, at: datetime) -> tuple[bool, bool, datetime]:
    """Sort open assignments first, and those by due date."""
    window = state.policy.window
    is_over = window.phase(at) in (Phase.LATE, Phase.CLOSED)
    return is_over, window.due_at is None, window.due_at or datetime.max.replace(tzinfo=UTC)


@router.get(ASSIGNMENT_PATH)
def show_assignment(page: AssignmentPage) -> Response:
    """An assignment with its questions."""
    with page.read() as session:
        membership = page.membership(session)
        state = get_assignment(
            session, page.grading, membership, assignment=page.assignment, at=page.at
        )
    return page.render(
        "student/assignment.html",
        membership=membership,
        state=state,
        total=compute_assignment_total(state),
    )


@router.get("/attempts/{attempt_id}")
def show_attempt(page: Page, attempt_id: AttemptId) -> Response:
    """An attempt; staff of the course also see how it was judged."""
    with page.read(cost=RECOMPUTED_COST) as session:
        found = get_visible_attempt(session, page.grading, page.caller, attempt_id=attempt_id)
        if not found.is_own:
            return render_attempt_for_staff(page, session, found)
        report = load_attempt_report(session, page.grading, found, at=page.at)
        attempt = found.attempt
        return page.render(
            "student/attempt.html",
            membership=found.membership,
            rubric=found.published.rubric(attempt.question),
            attempt=report,
            pictures=draw_plots(session, page.grading, found, report),
            files=list_files(session, enrolment_id=attempt.enrolment_id, answer=attempt.answer),
        )


@router.get("/differences")
def choose_attempts(page: Page, first: _AttemptQuery, second: _AttemptQuery) -> Response:
    """Redirect from the form that chooses two attempts to the page that compares them."""
    return page.redirect(f"/attempts/{first}/difference/{second}")


@router.get("/attempts/{attempt_id}/difference/{other_id}")
def show_difference(page: Page, attempt_id: AttemptId, other_id: AttemptId) -> Response:
    """Two attempts side by side: what was sent, and the results."""
    with page.read(cost=RECOMPUTED_COST) as session:
        pair = [
            get_visible_attempt(session, page.grading, page.caller, attempt_id=each)
            for each in (attempt_id, other_id)
        ]
        reports = [load_attempt_report(session, page.grading, each, at=page.at) for each in pair]
        fields = compare_attempts(session, page.grading, *pair)
    return page.render(
        "student/difference.html",
        membership=pair[0].membership,
        rubric=pair[0].published.rubric(pair[0].attempt.question),
        first=reports[0],
        second=reports[1],
        fields=[(each, isinstance(each.how, NumberDifferences)) for each in fields],
    )
