"""Statistics, grades, overrides, external scores and extensions."""

from __future__ import annotations

from decimal import Decimal

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, Field

from grader.domain.roles import Scope
from grader.errors import MissingVersion, OutdatedVersion, RequestRefused, ReusedIdempotencyKey
from grader.grading.analytics.models import AssignmentStatistics
from grader.grading.analytics.statistics import load_assignment_statistics
from grader.grading.attempts.bundle_for import find_release_time
from grader.grading.grades.extensions import record_extension
from grader.grading.grades.external_scores import ScoreEntry, record_external_scores
from grader.grading.grades.overrides import override_grade
from grader.store.database import Session
from grader.store.queries.courses import get_member, list_members
from grader.store.queries.decisions import list_external_scores, list_overrides
from grader.store.queries.grades import find_grades
from grader.store.queries.publications import list_extensions
from grader.web.api import models as m
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    IfMatchHeader,
    SentKeyDep,
    create_once,
    format_etag,
    read_version,
    to_response,
)
from grader.web.api.presenters import to_grade_read
from grader.web.auth import CourseworkReader, GradesReader, GradesWriter, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.params import AssignmentId, QuestionId, StudentLogin
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Grades"])

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"
_GRADE = _ASSIGNMENT + "/questions/{question}/grades/{student}"


@router.get(
    _ASSIGNMENT + "/statistics",
    summary="Statistics",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_statistics(
    assignment: AssignmentId, membership: CourseworkReader, service: ServiceDep
) -> AssignmentStatistics:
    """Difficulty, discrimination, attempts and time to solve, misconceptions."""
    with service.database.read() as session:
        return load_assignment_statistics(
            session, service.context, run_id=membership.run.id, assignment=assignment
        )


@router.get(
    _GRADE,
    summary="A student's grade",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_grade(
    assignment: AssignmentId,
    question: QuestionId,
    student: StudentLogin,
    membership: GradesReader,
    service: ServiceDep,
    response: Response,
) -> m.GradeRead:
    """A student's grade for a question, with staff decisions; its version is the ETag."""
    with service.database.read() as session:
        grade = _load_grade(
            session, service, membership.run.id, student, assignment=assignment, question=question
        )
    response.headers["ETag"] = format_etag(grade.version)
    return grade


def _load_grade(
    session: Session, service: Service, run_id: str, student: str, *, assignment: str, question: str
) -> m.GradeRead:
    published = service.context.in_force(session, run_id=run_id, assignment=assignment)
    possible = published.rubric(question).form.points
    member = get_member(session, run_id=run_id, login=student)
    key = (member.enrolment.id, assignment, question)
    return to_grade_read(
        member.login,
        question,
        possible,
        find_grades(session, parts=[key]).get(key),
        list_overrides(session, student_questions=[key]),
        list_external_scores(session, student_questions=[key]),
    )


class OverrideUpdate(RequestBody):
    """An override; null points withdraw an earlier one."""

    points: Decimal | None = Field(examples=[7.5], max_digits=8, decimal_places=2, ge=0)
    reason: str = Field(
        min_length=1, max_length=2000, examples=["Regraded by hand: the idea is right."]
    )


@router.put(
    _GRADE + "/override",
    summary="Override a score",
    responses=COURSE_ERRORS
    | build_error_responses(RequestRefused, OutdatedVersion, MissingVersion),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def put_override(
    assignment: AssignmentId,
    question: QuestionId,
    student: StudentLogin,
    body: OverrideUpdate,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
    response: Response,
    version: IfMatchHeader = None,
) -> m.GradeRead:
    """Override a student's score for a question, with a reason that the student sees."""
    expected = read_version(version)

    def change(session: Session) -> m.GradeRead:
        member = get_member(session, run_id=membership.run.id, login=student)
        override_grade(
            session,
            service.context,
            membership,
            member,
            assignment=assignment,
            question=question,
            points=body.points,
            reason=body.reason,
            version=expected,
            at=at,
        )
        return _load_grade(
            session, service, membership.run.id, student, assignment=assignment, question=question
        )

    grade = await service.writer.run(change)
    response.headers["ETag"] = format_etag(grade.version)
    return grade


class ExternalScoreCreate(RequestBody):
    """A student's external score."""

    student: str = Field(min_length=1, max_length=200, examples=["ada"])
    points: Decimal = Field(examples=[27.5], max_digits=8, decimal_places=2, ge=0)


class ExternalScoresCreate(RequestBody):
    """External scores: all are entered, or none."""

    source: str = Field(min_length=1, max_length=200, examples=["lab server"])
    scores: list[ExternalScoreCreate] = Field(min_length=1, max_length=5000)


class ExternalScoresRead(m.ApiModel):
    """The number of scores entered."""

    entered: int


@router.post(
    _ASSIGNMENT + "/questions/{question}/external-scores",
    summary="Enter external scores",
    status_code=201,
    response_model=ExternalScoresRead,
    responses=COURSE_ERRORS | build_error_responses(RequestRefused, ReusedIdempotencyKey, 422),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def create_scores(
    assignment: AssignmentId,
    question: QuestionId,
    body: ExternalScoresCreate,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Enter scores for a question that is graded elsewhere."""

    def enter(session: Session) -> str:
        grades = record_external_scores(
            session,
            service.context,
            membership,
            assignment=assignment,
            question=question,
            scores=[ScoreEntry(each.student, each.points) for each in body.scores],
            source=body.source,
            at=at,
        )
        return ExternalScoresRead(entered=len(grades)).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    answered = await create_once(service, request, at=at, do=enter)
    return to_response(answered)


class ExtensionCreate(RequestBody):
    """More time or more attempts for a student; replaces an earlier extension."""

    student: str = Field(min_length=1, max_length=200, examples=["ada"])
    due_at: AwareDatetime | None = Field(default=None, examples=["2026-12-08T22:59:59Z"])
    extra_attempts: int = Field(default=0, ge=0, le=1000)
    reason: str = Field(min_length=1, max_length=2000, examples=["Ill for a week."])


@router.post(
    _ASSIGNMENT + "/extensions",
    summary="Give an extension",
    status_code=201,
    response_model=m.ExtensionRead,
    responses=COURSE_ERRORS | build_error_responses(RequestRefused, ReusedIdempotencyKey, 422),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def create_extension(
    assignment: AssignmentId,
    body: ExtensionCreate,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Give a student more time or more attempts."""

    def give(session: Session) -> str:
        member = get_member(session, run_id=membership.run.id, login=body.student)
        published = service.context.in_force(
            session, run_id=membership.run.id, assignment=assignment
        )
        released_at = find_release_time(session, published)
        line = record_extension(
            session,
            service.context,
            membership,
            member,
            assignment=assignment,
            due_at=body.due_at,
            extra_attempts=body.extra_attempts,
            reason=body.reason,
            at=at,
        )
        return m.ExtensionRead.of(
            line,
            student=member.login,
            is_after_publication=released_at is not None and released_at < at,
        ).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    answered = await create_once(service, request, at=at, do=give)
    return to_response(answered)


@router.get(
    _ASSIGNMENT + "/extensions",
    summary="All extensions",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_extensions(
    assignment: AssignmentId, membership: GradesReader, service: ServiceDep
) -> list[m.ExtensionRead]:
    """All extensions of an assignment, newest first; a student's newest one applies."""
    with service.database.read() as session:
        service.context.in_force(session, run_id=membership.run.id, assignment=assignment)
        logins = {
            each.enrolment.id: each.login
            for each in list_members(session, run_id=membership.run.id, with_left=True)
        }
        lines = list_extensions(session, run_id=membership.run.id, assignment=assignment)
    return [m.ExtensionRead.of(each, student=logins[each.enrolment_id]) for each in lines]
