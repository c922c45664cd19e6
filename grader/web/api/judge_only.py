"""Judging without storing, for staff and their programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field

from grader.accounts.callers import Caller, get_membership_as
from grader.domain.roles import Role, Scope
from grader.errors import AnswerRefused
from grader.feedback.report import Report
from grader.grading.submissions.check import judge_without_storing
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.auth import describe_access, make_caller_dependency
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.service import ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Judging"])


class JudgeRequest(RequestBody):
    """An answer to be judged for any variant."""

    course: str = Field(min_length=1, max_length=64, examples=["attention-2026"])
    question: str = Field(
        pattern=r"^[^/]{1,64}/[^/]{1,64}$",
        description="Assignment and question.",
        examples=["attention-exploration/3b"],
    )
    variant: str = Field(
        min_length=1,
        max_length=64,
        pattern=r"^[^/\x00-\x1f]+$",
        description="A name of your own, or a student's enrolment.",
        examples=["try-1"],
    )
    answer: Any = Field(examples=[{"q": "2 k_a - k_b"}])
    uses: Any = Field(
        default=None, description="The earlier part's answer, where the question builds on one."
    )


@router.post(
    "/grade",
    summary="Judge without storing",
    responses={**COURSE_ERRORS, **build_error_responses(AnswerRefused, 422)},
    openapi_extra=describe_access(Scope.JUDGE, "assistants and instructors"),
)
def judge_answer(
    body: JudgeRequest,
    caller: Annotated[Caller, Depends(make_caller_dependency(Scope.JUDGE, budget="submit"))],
    service: ServiceDep,
) -> Report:
    """Judge an answer for any variant; nothing is stored."""
    assignment, _, question = body.question.partition("/")
    with service.database.read() as session:
        get_membership_as(session, caller, Role.ASSISTANT, run_id=body.course)
        return judge_without_storing(
            session,
            service.context,
            run_id=body.course,
            assignment=assignment,
            question=question,
            variant=body.variant,
            sent=body.answer,
            uses=body.uses,
        )
