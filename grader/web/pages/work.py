"""What students see of their work: courses, an assignment, an attempt."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from grader.accounts.callers import Place, enter
from grader.grading.attempts import find_attempt, report_attempt
from grader.grading.showing import (
    get_assignment,
    list_assignments,
)
from grader.store.courses import list_enrolments
from grader.web.access import CourseId
from grader.web.api import views
from grader.web.api.attempts import AttemptId
from grader.web.api.courses import Assignment
from grader.web.pages.pictures import draw_pictures
from grader.web.pages.rendering import PageRoute, VisitorDep, render
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
            place = Place(visitor.caller, run, enrolment.role, enrolment)
            states = list_assignments(session, service.desk, place, at=at)
            courses.append(
                (run, enrolment, [views.assignment_read(each, at=at) for each in states])
            )
    return render(request, "work.html", visitor=visitor, courses=courses)


@router.get("/courses/{course}/assignments/{assignment}")
def show_assignment(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """An assignment with its questions."""
    with service.database.read() as session:
        place = enter(session, visitor.caller, run_id=course)
        state = get_assignment(session, service.desk, place, assignment=assignment, at=at)
    return render(
        request,
        "assignment.html",
        visitor=visitor,
        place=place,
        assignment=views.assignment_read(state, at=at),
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
        found = find_attempt(session, service.desk, visitor.caller, attempt_id=attempt_id)
        report = report_attempt(session, service.desk, found, at=at)
        pictures = draw_pictures(session, service, found, report)
    return render(
        request,
        "attempt.html",
        visitor=visitor,
        place=found.place,
        rubric=found.published.rubric(found.attempt.question),
        attempt=report,
        pictures=pictures,
    )
