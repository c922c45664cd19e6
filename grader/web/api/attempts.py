"""Answers: checked, submitted, looked at again, with their files; and judged without storing."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from grader.accounts.callers import Caller, get_membership_as
from grader.domain.roles import Role, Scope
from grader.errors import (
    AnswerRefused,
    MissingRole,
    MissingScope,
    NotFound,
    NotSignedIn,
    RequestRefused,
    ReusedIdempotencyKey,
    TooManyRequests,
)
from grader.feedback.base import ReportModel
from grader.feedback.report import Report
from grader.grading.attempts.bundle_for import compose_attempt_bundle
from grader.grading.attempts.find import get_visible_attempt, list_attempts, load_attempt_report
from grader.grading.attempts.open_questions import get_open_variant
from grader.grading.attempts.report import AttemptReport
from grader.grading.receipts.bundle import Bundle, write_bundle
from grader.grading.submissions.check import AnswerReading, check_answer, judge_without_storing
from grader.grading.submissions.uploads import MAX_BYTES, get_upload, upload
from grader.store.database import Session
from grader.store.queries.submissions import UploadLine
from grader.web.admission import refuse_unreadable, take_turn
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    SentKeyDep,
    to_response,
)
from grader.web.auth import (
    RECOMPUTED_COST,
    Checker,
    CourseReader,
    Submitter,
    begin_costly,
    describe_access,
    make_caller_dependency,
    open_membership,
)
from grader.web.errors.openapi import build_error_responses
from grader.web.files import PDF, download_pdf
from grader.web.http.body import RequestBody, StrictRoute, read_body
from grader.web.http.direct import DirectRequest, DirectRoute, make_json_response
from grader.web.params import (
    AssignmentId,
    AttemptId,
    QuestionId,
    QuestionNames,
    UploadId,
    read_question_names,
)
from grader.web.service import ReceivedAt, ServiceDep, get_received_at, get_service
from grader.web.submissions import Sender, SentAnswer, build_attempt_headers

router = APIRouter(route_class=StrictRoute, tags=["Answers"])

_QUESTION = "/courses/{course}/assignments/{assignment}/questions/{question}"
_SUBMIT_ERRORS = build_error_responses(
    NotSignedIn,
    MissingScope,
    MissingRole,
    NotFound,
    RequestRefused,
    AnswerRefused,
    TooManyRequests,
    503,
)


class AnswerRequest(RequestBody):
    """An answer: one member for each field."""

    has_text_values: ClassVar[bool] = False

    answer: Any = Field(
        description="The fields by name: numbers, nested lists, or text that holds a formula, "
        "a NumPy array, MATLAB, CSV or LaTeX.",
        examples=[{"q": "2 k_a - k_b"}],
    )


class CheckRoute(DirectRoute):
    """The route of checked answers, which programs may call with every change."""

    async def answer_directly(self, request: DirectRequest) -> Response | None:
        """Check an answer."""
        names, sent = read_question_names(request), await request.read_json()
        if names is None or not isinstance(sent, dict) or sent.keys() != {"answer"}:
            return None
        service = get_service(request)
        async with take_turn(request):
            return await service.run_in_reader(_check, request, names, sent["answer"])


def _check(request: Request, names: QuestionNames, sent: Any) -> Response:
    headers: dict[str, str] = {}
    with open_membership(
        request, headers, course=names.course, scope=Scope.SUBMIT, budget="check"
    ) as (session, membership):
        rubric, variant = get_open_variant(
            session,
            get_service(request).context,
            membership,
            assignment=names.assignment,
            question=names.question,
            at=get_received_at(request),
        )
    return make_json_response(check_answer(rubric, variant, sent), headers)


check_router = APIRouter(route_class=CheckRoute, tags=["Answers"])


@check_router.post(
    _QUESTION + "/check",
    summary="Check an answer",
    responses=_SUBMIT_ERRORS,
    openapi_extra=describe_access(Scope.SUBMIT, "participants"),
)
def check(
    assignment: AssignmentId,
    question: QuestionId,
    body: AnswerRequest,
    membership: Checker,
    service: ServiceDep,
    at: ReceivedAt,
) -> AnswerReading:
    """How an answer is read: shapes, formulas, faults. Free: nothing is judged or stored."""
    with service.database.read() as session:
        rubric, variant = get_open_variant(
            session, service.context, membership, assignment=assignment, question=question, at=at
        )
    return check_answer(rubric, variant, body.answer)


async def create_attempt(
    request: Request,
    response: Response,
    assignment: AssignmentId,
    question: QuestionId,
    body: AnswerRequest,
    membership: Submitter,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Judge an answer and record it as the caller's next attempt.

    An answer that was sent before is judged again if the rubric of the question, or of the earlier
    question that it uses, has changed since. That attempt is free, and `repeats_attempt` names the
    earlier one. It is accepted also when no attempts are left, but not when the time is over.
    """
    answer = SentAnswer(
        sender=Sender(membership.need_enrolment(), membership.caller.id),
        course=membership.run.id,
        assignment=assignment,
        question=question,
        answer=body.answer,
        received_at=at,
        key=key,
    )
    try:
        await refuse_unreadable(request, answer)
        answered = await get_service(request).submit(answer)
    finally:
        if answer.caller_id is not None:
            request.state.caller = answer.caller_id
    return to_response(answered, build_attempt_headers(answered, answer, response.headers))


router.add_api_route(
    _QUESTION + "/attempts",
    create_attempt,
    methods=["POST"],
    summary="Submit an answer",
    status_code=201,
    response_model=AttemptReport,
    responses={
        **_SUBMIT_ERRORS,
        **build_error_responses(ReusedIdempotencyKey, AnswerRefused, 422),
        200: {
            "description": "The same answer was sent before, and the same rubric judged it; this "
            "is its result. No attempt was used.",
            "model": AttemptReport,
        },
    },
    openapi_extra=describe_access(Scope.SUBMIT, "participants"),
)


@router.get(
    _QUESTION + "/attempts",
    summary="My attempts",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(
        Scope.READ, "participants; with `student` assistants and instructors"
    ),
)
def get_attempts(
    assignment: AssignmentId,
    question: QuestionId,
    membership: CourseReader,
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
            service.context,
            membership,
            assignment=assignment,
            question=question,
            at=at,
            student=student,
        )


_AnyCaller = Annotated[Caller, Depends(make_caller_dependency(None))]


@router.get(
    "/attempts/{attempt_id}",
    summary="An attempt",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.READ, "whose attempt it is; assistants and instructors"),
)
def get_attempt(
    attempt_id: AttemptId, caller: _AnyCaller, service: ServiceDep, at: ReceivedAt
) -> AttemptReport:
    """An attempt with its receipt, for ever."""
    with service.database.read() as session:
        found = get_visible_attempt(session, service.context, caller, attempt_id=attempt_id)
        return load_attempt_report(session, service.context, found, at=at)


@router.get(
    "/attempts/{attempt_id}/bundle",
    summary="The bundle of an attempt",
    response_model=Bundle,
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.READ, "whose attempt it is; assistants and instructors"),
)
def get_bundle(
    attempt_id: AttemptId,
    caller: Annotated[Caller, Depends(make_caller_dependency(None, cost=RECOMPUTED_COST))],
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """All that is needed to see that an attempt was graded rightly: `grader replay` does it.

    The rubric and the keys are in it once nobody can hand in any more.
    """
    with service.database.read() as session:
        found = get_visible_attempt(session, service.context, caller, attempt_id=attempt_id)
        bundle = compose_attempt_bundle(session, service.context, found, at=at)
    return Response(
        write_bundle(bundle),
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{attempt_id}.json"'},
    )


_BINARY = {PDF: {"schema": {"type": "string", "format": "binary"}}}


class UploadRead(ReportModel):
    """A PDF that was uploaded; answers refer to it by its digest."""

    id: str = Field(examples=["upl_01m7hf69p8faa3attd7ssr05mg"])
    digest: str = Field(description="`sha256:` and the hash of what is in it.")
    name: str = Field(examples=["written.pdf"])
    size: int = Field(description="In bytes.")


@router.post(
    "/courses/{course}/uploads",
    summary="Upload a PDF",
    status_code=201,
    responses={**COURSE_ERRORS, **build_error_responses(RequestRefused, 413, 415, 422)},
    openapi_extra={
        **describe_access(Scope.SUBMIT, "participants"),
        "requestBody": {"required": True, "content": _BINARY},
    },
)
async def create_upload(
    request: Request,
    membership: Submitter,
    service: ServiceDep,
    at: ReceivedAt,
    name: Annotated[str, Query(max_length=200, description="What it is called.")] = "written.pdf",
) -> UploadRead:
    """Upload a PDF of at most 10 MB. A written answer has a link to it, `[name](digest)`."""
    content = await read_body(request, types=(PDF,), most_bytes=MAX_BYTES)

    def keep(session: Session) -> UploadLine:
        return upload(session, membership, name=name, content=content, at=at)

    line = await service.writer.run(keep)
    return UploadRead(id=line.id, digest=line.digest, name=line.name, size=line.size)


@router.get(
    "/uploads/{upload_id}",
    summary="An uploaded PDF",
    response_class=Response,
    responses={**COURSE_ERRORS, 200: {"description": "The PDF.", "content": _BINARY}},
    openapi_extra=describe_access(Scope.READ, "whose it is; assistants and instructors"),
)
def get_uploaded(
    upload_id: UploadId,
    caller: Annotated[Caller, Depends(make_caller_dependency(None))],
    service: ServiceDep,
) -> Response:
    """A PDF as it was uploaded."""
    with service.database.read() as session:
        return download_pdf(get_upload(session, caller, upload_id=upload_id))


judging_router = APIRouter(route_class=StrictRoute, tags=["Judging"])


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


@judging_router.post(
    "/grade",
    summary="Judge without storing",
    responses={**COURSE_ERRORS, **build_error_responses(AnswerRefused, 422)},
    openapi_extra=describe_access(Scope.JUDGE, "assistants and instructors"),
)
def judge_answer(
    request: Request,
    body: JudgeRequest,
    caller: Annotated[Caller, Depends(make_caller_dependency(Scope.JUDGE, budget="submit"))],
    service: ServiceDep,
) -> Report:
    """Judge an answer for any variant; nothing is stored."""
    begin_costly(request, caller.id)
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
