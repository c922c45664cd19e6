"""One student's attempts at one question, for staff, with a form to override the score."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.domain.roles import Role
from grader.errors import MalformedRequest, OutdatedVersion
from grader.grading.attempts.find import list_attempts
from grader.grading.grades.overrides import (
    MAX_REASON_LENGTH,
    format_grade_version,
    override_grade,
)
from grader.store.database import Session
from grader.store.queries.courses import get_member
from grader.store.queries.decisions import list_external_scores, list_overrides
from grader.store.queries.grades import find_grades
from grader.web.pages.context import QUESTION_PATH, FormDep, QuestionContext, QuestionPage
from grader.web.pages.form_numbers import read_form_points
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.params import StudentLogin

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_STUDENT_PATH = QUESTION_PATH + "/students/{student}"


@router.get(_STUDENT_PATH)
def show_student_question(page: QuestionPage, student: StudentLogin) -> Response:
    """A student's attempts at a question, the grade and its history, and the override form."""
    return _render_page(page, student, FormState())


def _render_page(page: QuestionContext, student: str, form: FormState) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        member = get_member(session, run_id=page.course, login=student)
        attempts = list_attempts(
            session,
            page.grading,
            membership,
            assignment=page.assignment,
            question=page.question,
            at=page.at,
            student=student,
        )
        part = (member.enrolment.id, page.assignment, page.question)
        grade = find_grades(session, parts=[part]).get(part)
        decisions = [
            (each, each.reason) for each in list_overrides(session, student_questions=[part])
        ]
        scores = [
            (each, each.source) for each in list_external_scores(session, student_questions=[part])
        ]
        return page.render(
            "gradebook/student_question.html",
            status=form.status,
            form=form,
            longest_reason=MAX_REASON_LENGTH,
            membership=membership,
            member=member,
            rubric=page.published(session).rubric(page.question),
            grade=grade,
            grade_version=format_grade_version(grade),
            history=sorted([*decisions, *scores], key=lambda each: each[0].at, reverse=True),
            attempts=attempts,
            may_override=membership.role is Role.INSTRUCTOR,
        )


@router.post(_STUDENT_PATH)
async def override_score(page: QuestionPage, student: StudentLogin, form: FormDep) -> Response:
    """Override a score, or remove the override where no points are given."""

    def change(session: Session) -> None:
        membership = page.membership(session, Role.INSTRUCTOR)
        member = get_member(session, run_id=page.course, login=student)
        points = read_form_points(form.get("points", ""))
        override_grade(
            session,
            page.grading,
            membership,
            member,
            assignment=page.assignment,
            question=page.question,
            points=points,
            reason=form.get("reason", ""),
            version=form.get("version", ""),
            at=page.at,
        )

    try:
        await page.write(change)
    except (MalformedRequest, OutdatedVersion) as error:
        # The page shows the grade as it is now, so the next try may replace it.
        refused = FormState.refused(form, error)
        return await run_in_threadpool(_render_page, page, student, refused)
    return page.redirect()
