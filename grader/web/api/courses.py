"""The caller, courses, assignments and questions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from grader.accounts.callers import Caller, Membership
from grader.accounts.courses import make_run
from grader.domain.roles import Role, Scope
from grader.errors import MissingRole, MissingScope, NotSignedIn, RequestRefused, TooManyRequests
from grader.grading.attempts.open_questions import (
    OpenedQuestion,
    get_assignment,
    get_open_variant,
    list_assignments,
    open_question,
)
from grader.grading.submissions.check import MAX_KEY_SETS, sample_practice_key_sets
from grader.store.database import Session
from grader.store.queries.attempts import has_view
from grader.store.queries.courses import list_enrolments, list_runs
from grader.web.api import models as m
from grader.web.api import presenters
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    SentKeyDep,
    create_once,
    to_response,
)
from grader.web.auth import (
    RECOMPUTED_COST,
    AnyCaller,
    CourseReader,
    describe_access,
    make_caller_dependency,
    make_membership_dependency,
    make_operator_dependency,
    open_membership,
)
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.http.direct import DirectRequest, DirectRoute, make_json_response
from grader.web.params import AssignmentId, QuestionId, QuestionNames, read_question_names
from grader.web.service import ReceivedAt, ServiceDep, get_received_at, get_service

router = APIRouter(route_class=StrictRoute, tags=["Courses"])

_CALLER_ERRORS = build_error_responses(NotSignedIn, MissingScope, TooManyRequests, 503)


@router.get(
    "/me",
    summary="Who am I",
    responses=_CALLER_ERRORS,
    openapi_extra=describe_access(None, "anybody signed in"),
)
def get_me(caller: AnyCaller, service: ServiceDep) -> m.MeRead:
    """The caller: login, name, courses, and the scopes of the token."""
    person = caller.person
    courses = []
    if person is not None:
        with service.database.read() as session:
            courses = _list_own_courses(session, person.id)
    return m.MeRead.of(
        caller,
        login=person.login if person else None,
        name=person.name if person else None,
        scopes=sorted(scope.value for scope in caller.scopes),
        courses=courses,
    )


def _list_own_courses(session: Session, person_id: str) -> list[m.CourseRead]:
    enrolments = list_enrolments(session, person_id=person_id)
    return [presenters.to_course_read(run, enrolment.role) for enrolment, run in enrolments]


@router.get(
    "/courses",
    summary="My courses",
    responses=_CALLER_ERRORS,
    openapi_extra=describe_access(Scope.READ, "anybody signed in"),
)
def get_courses(
    caller: Annotated[Caller, Depends(make_caller_dependency(Scope.READ))], service: ServiceDep
) -> list[m.CourseRead]:
    """The course runs of the caller; all of them for operators."""
    with service.database.read() as session:
        if caller.person is not None and not caller.is_operator:
            return _list_own_courses(session, caller.person.id)
        runs = list_runs(session)
    return [
        presenters.to_course_read(run, Role.INSTRUCTOR)
        for run in runs
        if caller.is_operator or run.id == caller.run_id
    ]


class CourseCreate(RequestBody):
    """A new course run."""

    id: str = Field(max_length=64, examples=["attention-2027"])
    course: str = Field(max_length=64, examples=["attention"])
    title: str = Field(min_length=1, max_length=200, examples=["Attention, 2027"])
    time_zone: str = Field(default="UTC", max_length=64, examples=["Europe/Warsaw"])


@router.post(
    "/courses",
    summary="Make a course run",
    status_code=201,
    response_model=m.CourseRead,
    responses=_CALLER_ERRORS | build_error_responses(MissingRole, RequestRefused),
    openapi_extra=describe_access(Scope.ROSTER, "operators"),
)
async def create_course(
    body: CourseCreate,
    caller: Annotated[Caller, Depends(make_operator_dependency(Scope.ROSTER))],
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Make a course run, with its own secret for all random draws."""

    def do(session: Session) -> str:
        run = make_run(
            session,
            course_id=body.course,
            run_id=body.id,
            title=body.title,
            time_zone=body.time_zone,
            at=at,
            by=caller.id,
        )
        return presenters.to_course_read(run, Role.INSTRUCTOR).model_dump_json()

    request = key.of(caller.id) if key else None
    answered = await create_once(service, request, at=at, do=do)
    return to_response(answered)


@router.get(
    "/courses/{course}",
    summary="A course run",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.READ, "participants"),
)
def get_course(membership: CourseReader) -> m.CourseRead:
    """A course run."""
    return presenters.to_course_read(membership.run, membership.role)


@router.get(
    "/courses/{course}/assignments",
    summary="All assignments",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.READ, "participants"),
)
def get_assignments(
    membership: CourseReader, service: ServiceDep, at: ReceivedAt
) -> list[m.AssignmentSummary]:
    """All published assignments with the caller's own points, by due date."""
    with service.database.read() as session:
        states = list_assignments(session, service.context, membership, at=at)
        return [presenters.to_assignment_summary(state, at=at) for state in states]


@router.get(
    "/courses/{course}/assignments/{assignment}",
    summary="An assignment and its questions",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.READ, "participants"),
)
def get_one_assignment(
    assignment: AssignmentId, membership: CourseReader, service: ServiceDep, at: ReceivedAt
) -> m.AssignmentRead:
    """An assignment: questions, points, own score, attempts left, due date."""
    with service.database.read() as session:
        state = get_assignment(session, service.context, membership, assignment=assignment, at=at)
        return presenters.to_assignment_read(state, at=at)


class QuestionRoute(DirectRoute):
    """The route of questions, which everybody calls at the opening of an assignment."""

    async def answer_directly(self, request: DirectRequest) -> Response | None:
        """Show a question."""
        names = read_question_names(request)
        if names is None:
            return None
        service, headers = get_service(request), dict[str, str]()
        membership, response = await service.run_in_reader(_show_again, request, names, headers)
        if response is not None:
            return response
        shown = await service.writer.run(
            lambda session: _open_question(request, session, membership, names, keep=True)
        )
        return _to_response(request, names, shown, headers)


def _show_again(
    request: Request, names: QuestionNames, headers: dict[str, str]
) -> tuple[Membership, Response | None]:
    """The question if the caller has seen it before, so that nothing is written."""
    with open_membership(request, headers, course=names.course, scope=Scope.READ) as (
        session,
        membership,
    ):
        if membership.enrolment is not None and not has_view(
            session, part=(membership.enrolment.id, names.assignment, names.question)
        ):
            return membership, None
        shown = _open_question(request, session, membership, names, keep=False)
    return membership, _to_response(request, names, shown, headers)


def _open_question(
    request: Request,
    session: Session,
    membership: Membership,
    names: QuestionNames,
    *,
    keep: bool,
) -> OpenedQuestion:
    return open_question(
        session,
        get_service(request).context,
        membership,
        assignment=names.assignment,
        question=names.question,
        at=get_received_at(request),
        keep=keep,
    )


def _to_response(
    request: Request, names: QuestionNames, shown: OpenedQuestion, headers: dict[str, str]
) -> Response:
    at = get_received_at(request)
    return make_json_response(
        presenters.to_question_read(shown, course=names.course, at=at), headers
    )


question_router = APIRouter(route_class=QuestionRoute, tags=["Courses"])


@question_router.get(
    "/courses/{course}/assignments/{assignment}/questions/{question}",
    summary="A question",
    responses=COURSE_ERRORS | build_error_responses(RequestRefused),
    openapi_extra=describe_access(Scope.READ, "participants"),
)
async def get_question(
    request: Request, assignment: AssignmentId, question: QuestionId, membership: CourseReader
) -> m.QuestionRead:
    """A question with the caller's own numbers, in full precision."""
    names = QuestionNames(membership.run.id, assignment, question)
    shown = await get_service(request).writer.run(
        lambda session: _open_question(request, session, membership, names, keep=True)
    )
    return presenters.to_question_read(shown, course=names.course, at=get_received_at(request))


@router.get(
    "/courses/{course}/assignments/{assignment}/questions/{question}/practice",
    summary="Practice key sets",
    responses=COURSE_ERRORS | build_error_responses(RequestRefused),
    openapi_extra=describe_access(Scope.READ, "participants"),
)
def get_practice(
    assignment: AssignmentId,
    question: QuestionId,
    membership: Annotated[
        Membership, Depends(make_membership_dependency(Scope.READ, cost=RECOMPUTED_COST))
    ],
    service: ServiceDep,
    at: ReceivedAt,
    count: Annotated[int, Query(ge=1, le=MAX_KEY_SETS, description="How many.")] = 10,
) -> m.PracticeRead:
    """Practice key sets for the caller's own numbers, never used for grading."""
    with service.database.read() as session:
        rubric, variant = get_open_variant(
            session, service.context, membership, assignment=assignment, question=question, at=at
        )
        judge = service.context.judge(session, run_id=membership.run.id, rubric=rubric)
    return m.PracticeRead(
        question=rubric.id,
        count=count,
        key_sets=sample_practice_key_sets(judge, variant, count=count),
    )
