"""Checking, submitting, and looking at attempts."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from grader.accounts.callers import Caller
from grader.domain.roles import Scope
from grader.errors import (
    AnswerRefused,
    MissingRole,
    MissingScope,
    NotFound,
    NotSignedIn,
    Refused,
    ReusedKey,
    TooManyRequests,
)
from grader.grading.attempts.bundle_for import bundle_attempt
from grader.grading.attempts.find import find_attempt, list_attempts, report_attempt
from grader.grading.attempts.open_questions import get_assignment, refuse_unopened, variant_of
from grader.grading.attempts.report import AttemptReport
from grader.grading.receipts.bundle import Bundle, write_bundle
from grader.grading.submissions.check import Reading, check_answer
from grader.grading.submissions.submit import Sending
from grader.web.api.courses import Assignment, Question
from grader.web.api.idempotency import IN_COURSE, KeyHeader, RequestDigest, request_key, respond
from grader.web.auth import Reader, Sender, allows, caller_with
from grader.web.errors.openapi import responses
from grader.web.http.body import Body, StrictRoute
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Answers"])

AttemptId = Annotated[
    str, Path(min_length=1, max_length=40, examples=["att_01m7hf69p8faa3attd7ssr05mg"])
]
_QUESTION = "/courses/{course}/assignments/{assignment}/questions/{question}"
_SENDING = responses(
    NotSignedIn, MissingScope, MissingRole, NotFound, Refused, AnswerRefused, TooManyRequests, 503
)


class AnswerSent(Body):
    """An answer: one member for each field."""

    answer: Any = Field(
        description="The fields by name: numbers, nested lists, or text that holds a formula, "
        "a NumPy array, MATLAB, CSV or LaTeX.",
        examples=[{"q": "2 k_a - k_b"}],
    )


@router.post(
    _QUESTION + "/check",
    summary="Check an answer",
    responses=_SENDING,
    openapi_extra=allows(Scope.SUBMIT, "participants"),
)
def check(
    assignment: Assignment,
    question: Question,
    body: AnswerSent,
    place: Sender,
    service: ServiceDep,
    at: ReceivedAt,
) -> Reading:
    """How an answer is read: shapes, formulas, faults. Free: nothing is judged or stored."""
    with service.database.read() as session:
        state = get_assignment(session, service.desk, place, assignment=assignment, at=at)
        rubric = state.published.rubric(question)
        refuse_unopened(state, place, at=at)
        variant = variant_of(session, service.desk, place, rubric, at=at, keep=False)
    return check_answer(rubric, variant, body.answer)


@router.post(
    _QUESTION + "/attempts",
    summary="Submit an answer",
    status_code=201,
    response_model=AttemptReport,
    responses={
        **_SENDING,
        **responses(ReusedKey, AnswerRefused, 422),
        200: {
            "description": "The same answer was sent before; this is its result. No attempt was "
            "used.",
            "model": AttemptReport,
        },
    },
    openapi_extra=allows(Scope.SUBMIT, "participants"),
)
async def create_attempt(
    assignment: Assignment,
    question: Question,
    body: AnswerSent,
    place: Sender,
    service: ServiceDep,
    at: ReceivedAt,
    digest: RequestDigest,
    key: KeyHeader = None,
) -> Response:
    """Judge an answer and record it as the caller's next attempt."""
    sending = Sending(
        enrolment=place.need_enrolment(),
        assignment=assignment,
        question=question,
        answer=body.answer,
        received_at=at,
        request=request_key(place.caller.id, key, digest),
    )
    answered = await service.writer.submit(service.submit, sending)
    attempt_id = orjson.loads(answered.body)["id"]
    return respond(answered, {"Location": f"/api/v1/attempts/{attempt_id}"})


@router.get(
    _QUESTION + "/attempts",
    summary="My attempts",
    responses=IN_COURSE,
    openapi_extra=allows(Scope.READ, "participants; with `student` assistants and instructors"),
)
def get_attempts(
    assignment: Assignment,
    question: Question,
    place: Reader,
    service: ServiceDep,
    at: ReceivedAt,
    student: Annotated[
        str | None, Query(max_length=200, description="For staff: whose, by login.")
    ] = None,
) -> list[AttemptReport]:
    """The caller's attempts at a question in order, or for staff those of a student."""
    with service.database.read() as session:
        return list_attempts(
            session,
            service.desk,
            place,
            assignment=assignment,
            question=question,
            at=at,
            student=student,
        )


_AnyCaller = Annotated[Caller, Depends(caller_with(None))]


@router.get(
    "/attempts/{attempt_id}",
    summary="An attempt",
    responses=IN_COURSE,
    openapi_extra=allows(Scope.READ, "whose attempt it is; assistants and instructors"),
)
def get_attempt(
    attempt_id: AttemptId, caller: _AnyCaller, service: ServiceDep, at: ReceivedAt
) -> AttemptReport:
    """An attempt with its receipt, for ever."""
    with service.database.read() as session:
        found = find_attempt(session, service.desk, caller, attempt_id=attempt_id)
        return report_attempt(session, service.desk, found, at=at)


@router.get(
    "/attempts/{attempt_id}/bundle",
    summary="The bundle of an attempt",
    response_model=Bundle,
    responses=IN_COURSE,
    openapi_extra=allows(Scope.READ, "whose attempt it is; assistants and instructors"),
)
def get_bundle(
    attempt_id: AttemptId, caller: _AnyCaller, service: ServiceDep, at: ReceivedAt
) -> Response:
    """All that is needed to see that an attempt was graded rightly: `grader replay` does it.

    The rubric and the keys are in it once nobody can hand in any more.
    """
    with service.database.read() as session:
        found = find_attempt(session, service.desk, caller, attempt_id=attempt_id)
        bundle = bundle_attempt(session, service.desk, found, at=at)
    return Response(
        write_bundle(bundle),
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{attempt_id}.json"'},
    )
