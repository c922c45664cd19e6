"""What students see of their work: courses, an assignment, an attempt."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from grader.accounts.callers import Membership, get_membership
from grader.domain.policies import Phase
from grader.grading.attempts.find import get_visible_attempt, load_attempt_report
from grader.grading.attempts.open_questions import get_assignment, list_assignments
from grader.grading.submissions.uploads import list_files
from grader.store.queries.courses import list_enrolments, list_runs
from grader.web.api import presenters
from grader.web.api.models import AssignmentRead
from grader.web.pages.plots import draw_plots
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.pages.staff.attempt import show_attempt_to_staff
from grader.web.params import AssignmentId, AttemptId, CourseId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def show_work(
    request: Request, visitor: VisitorDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """My work: all courses, with their assignments by due date."""
    person = visitor.caller.need_person()
    with service.database.read() as session:
        courses = []
        for enrolment, run in list_enrolments(session, person_id=person.id):
            membership = Membership(visitor.caller, run, enrolment.role, enrolment)
            states = list_assignments(session, service.context, membership, at=at)
            found = [presenters.to_assignment_read(each, at=at) for each in states]
            courses.append((run, enrolment, sorted(found, key=_urgency)))
        known = {run.id for run, _, _ in courses}
        others = list_runs(session) if person.is_operator else []
    return render(
        request,
        "work.html",
        visitor=visitor,
        courses=courses,
        others=[run for run in others if run.id not in known],
    )


def _urgency(assignment: AssignmentRead) -> tuple[bool, bool, datetime]:
    """What can still be worked on comes first, and of that what is due first."""
    due_at = assignment.due_at
    is_over = assignment.phase in (Phase.LATE, Phase.CLOSED)
    return is_over, due_at is None, due_at or datetime.max.replace(tzinfo=UTC)


@router.get("/courses/{course}/assignments/{assignment}")
def show_assignment(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """An assignment with its questions."""
    with service.database.read() as session:
        membership = get_membership(session, visitor.caller, run_id=course)
        state = get_assignment(session, service.context, membership, assignment=assignment, at=at)
    return render(
        request,
        "assignment.html",
        visitor=visitor,
        membership=membership,
        assignment=presenters.to_assignment_read(state, at=at),
    )


@router.get("/attempts/{attempt_id}")
def show_attempt(
    request: Request,
    attempt_id: AttemptId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """An attempt with all that is known about it."""
    with service.database.read() as session:
        found = get_visible_attempt(session, service.context, visitor.caller, attempt_id=attempt_id)
        if not found.is_own:
            return show_attempt_to_staff(request, visitor, service, session, found, at=at)
        report = load_attempt_report(session, service.context, found, at=at)
        pictures = draw_plots(session, service, found, report)
        files = list_files(
            session, enrolment_id=found.attempt.enrolment_id, answer=found.attempt.answer
        )
    return render(
        request,
        "attempt.html",
        visitor=visitor,
        membership=found.membership,
        rubric=found.published.rubric(found.attempt.question),
        attempt=report,
        pictures=pictures,
        files=files,
    )
