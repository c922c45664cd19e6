"""What staff see of one student at one question: attempts, and a form to override the score."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from grader.accounts.callers import get_membership_as
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest
from grader.grading.attempts.find import list_attempts
from grader.grading.grades.overrides import override_grade
from grader.store.database import Session
from grader.store.queries.courses import get_member
from grader.store.queries.decisions import list_external_scores, list_overrides
from grader.store.queries.grades import find_grades
from grader.web.api import presenters as views
from grader.web.pages.rendering import FormDep, PageRoute, VisitorDep, render
from grader.web.params import AssignmentId, CourseId, QuestionId, StudentLogin
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"
_STUDENT = _ASSIGNMENT + "/questions/{question}/students/{student}"


@router.get(_STUDENT)
def show_student_question(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    student: StudentLogin,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """A student's attempts at a question, the grade, its history, and a form to override it."""
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        member = get_member(session, run_id=course, login=student)
        attempts = list_attempts(
            session,
            service.context,
            membership,
            assignment=assignment,
            question=question,
            at=at,
            student=student,
        )
        rubric = service.context.in_force(session, run_id=course, assignment=assignment).rubric(
            question
        )
        part = (member.enrolment.id, assignment, question)
        grade = views.to_grade_read(
            member.login,
            question,
            rubric.form.points,
            find_grades(session, parts=[part]).get(part),
            list_overrides(session, student_questions=[part]),
            list_external_scores(session, student_questions=[part]),
        )
    return render(
        request,
        "student.html",
        visitor=visitor,
        membership=membership,
        member=member,
        rubric=rubric,
        grade=grade,
        attempts=attempts,
        may_override=membership.role is Role.INSTRUCTOR,
    )


@router.post(_STUDENT)
async def override_score(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    student: StudentLogin,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Override a score, or take an override back where no points are given."""
    points = _read_points(form.get("points", ""))

    def change(session: Session) -> None:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        override_grade(
            session,
            service.context,
            membership,
            get_member(session, run_id=course, login=student),
            assignment=assignment,
            question=question,
            points=points,
            reason=form.get("reason", ""),
            version=form.get("version", ""),
            at=at,
        )

    await service.writer.run(change)
    return RedirectResponse(request.url.path, status_code=303)


def _read_points(text: str) -> Decimal | None:
    if not text.strip():
        return None
    try:
        return Decimal(text.strip().replace(",", "."))
    except InvalidOperation:
        fault = ErrorDetail("points", "points.range", "Points are a number, such as 7.5.")
        raise MalformedRequest.of(fault) from None
