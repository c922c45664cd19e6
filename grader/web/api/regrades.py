"""Regrades: preview, apply, undo, and deciding against one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from grader.accounts.callers import Membership
from grader.domain.roles import Scope
from grader.errors import RequestRefused, ReusedIdempotencyKey
from grader.grading.grades.overrides import MAX_REASON_LENGTH
from grader.grading.regrades.decide import (
    apply_regrade,
    decline_regrade,
    discard_regrade,
    refuse_students,
    start_regrade,
    undo_regrade,
)
from grader.grading.regrades.outdated import count_outdated
from grader.grading.regrades.preview import RegradePreview, load_preview
from grader.store.database import Session
from grader.store.queries.jobs import JobLine, find_job_about
from grader.store.queries.regrades.records import RegradeLine, get_regrade, list_regrades
from grader.web.api import models as m
from grader.web.api.idempotency import COURSE_ERRORS, SentKeyDep, create_once, to_response
from grader.web.auth import GradesReader, GradesWriter, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.pagination import Cursor, Limit, add_next_link, decode_cursor, encode_cursor
from grader.web.params import AssignmentId, RegradeId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Regrades"])

_REGRADES = "/courses/{course}/assignments/{assignment}/regrades"
_REGRADE = "/courses/{course}/regrades/{regrade}"
_DECISION_ERRORS = COURSE_ERRORS | build_error_responses(RequestRefused)
_QUESTIONS: Any = Field(
    default=[],
    max_length=200,
    description="By default all with attempts by an earlier version of their rubric.",
    examples=[["3b"]],
)


class RegradeCreate(RequestBody):
    """Which attempts to judge again, and by what."""

    questions: list[str] = _QUESTIONS
    publication: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="The number of the publication whose rubrics judge; by default the one in "
        "force. Another one can be previewed, but not applied.",
    )
    judges_all: bool = Field(
        default=False, description="Also judge attempts that these rubrics have judged."
    )
    never_lower: bool = Field(
        default=False, description="Leave an attempt as it is where it would earn less."
    )


class RegradeDecision(RequestBody):
    """Why it is decided so; students can read it."""

    reason: str = Field(
        min_length=1, max_length=MAX_REASON_LENGTH, examples=["3b: the key was wrong."]
    )


class RegradeDecline(RegradeDecision):
    """Which attempts keep their judgements, and why."""

    questions: list[str] = _QUESTIONS


@router.get(
    _REGRADES,
    summary="All regrades",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_regrades(
    assignment: AssignmentId, membership: GradesReader, service: ServiceDep
) -> m.RegradesRead:
    """The regrades of an assignment, newest first, and where one is needed."""
    run_id = membership.run.id
    with service.database.read() as session:
        published = service.context.in_force(session, run_id=run_id, assignment=assignment)
        outdated = count_outdated(session, service.context, published)
        lines = list_regrades(session, run_id=run_id, assignment=assignment)
    return m.RegradesRead(outdated=outdated, regrades=[_to_read(each) for each in lines])


@router.post(
    _REGRADES,
    summary="Judge attempts again",
    status_code=201,
    response_model=m.RegradeRead,
    responses=_DECISION_ERRORS | build_error_responses(ReusedIdempotencyKey),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def create_regrade(
    assignment: AssignmentId,
    body: RegradeCreate,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Begin to judge stored answers again; nothing changes until it is applied."""

    def do(session: Session) -> str:
        refuse_students(session, membership)
        line = start_regrade(
            session,
            service.context,
            run_id=membership.run.id,
            assignment=assignment,
            questions=body.questions,
            publication=body.publication,
            judges_all=body.judges_all,
            never_lower=body.never_lower,
            by=membership.caller.id,
            at=at,
        )
        return _to_read(line).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    return to_response(await create_once(service, request, at=at, do=do))


@router.post(
    _REGRADES + "/declined",
    summary="Decide against a regrade",
    status_code=201,
    response_model=m.RegradeRead,
    responses=_DECISION_ERRORS | build_error_responses(ReusedIdempotencyKey),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def create_declined_regrade(
    assignment: AssignmentId,
    body: RegradeDecline,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Let attempts keep what an earlier version of their rubric gave them."""

    def do(session: Session) -> str:
        refuse_students(session, membership)
        line = decline_regrade(
            session,
            service.context,
            run_id=membership.run.id,
            assignment=assignment,
            questions=body.questions,
            reason=body.reason,
            by=membership.caller.id,
            at=at,
        )
        return _to_read(line).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    return to_response(await create_once(service, request, at=at, do=do))


@router.get(
    _REGRADE,
    summary="What a regrade changes",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_regrade_preview(
    request: Request,
    response: Response,
    regrade: RegradeId,
    membership: GradesReader,
    service: ServiceDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> m.RegradePreviewRead:
    """How far a regrade is, and what it changes: the grades that lose most first."""
    start = decode_cursor(cursor, int)
    offset = int(start[0]) if start else 0
    with service.database.read() as session:
        line = get_regrade(session, regrade_id=regrade, run_id=membership.run.id)
        preview = load_preview(session, service.context, line, limit=limit + 1, offset=offset)
        job = find_job_about(session, subject=line.id)
    if len(preview.changes) > limit:
        add_next_link(request, response, encode_cursor(offset + limit))
    return _to_preview_read(preview, job, limit)


@router.post(
    _REGRADE + "/apply",
    summary="Apply a regrade",
    responses=_DECISION_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def post_apply(
    regrade: RegradeId,
    body: RegradeDecision,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
) -> m.RegradeRead:
    """Let its judgements count, in one step; overrides stay."""
    return await _decide(
        service,
        membership,
        lambda session: apply_regrade(
            session, service.context, run_id=membership.run.id, regrade_id=regrade,
            reason=body.reason, by=membership.caller.id, at=at,
        ),
    )  # fmt: skip


@router.post(
    _REGRADE + "/undo",
    summary="Undo a regrade",
    responses=_DECISION_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def post_undo(
    regrade: RegradeId,
    body: RegradeDecision,
    membership: GradesWriter,
    service: ServiceDep,
    at: ReceivedAt,
) -> m.RegradeRead:
    """Give grades back what they were before it; what has happened since stays."""
    return await _decide(
        service,
        membership,
        lambda session: undo_regrade(
            session, service.context, run_id=membership.run.id, regrade_id=regrade,
            reason=body.reason, by=membership.caller.id, at=at,
        ),
    )  # fmt: skip


@router.post(
    _REGRADE + "/discard",
    summary="Discard a regrade",
    responses=_DECISION_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_WRITE, "instructors"),
)
async def post_discard(
    regrade: RegradeId, membership: GradesWriter, service: ServiceDep, at: ReceivedAt
) -> m.RegradeRead:
    """Give up a preview, with everything that it has judged."""
    return await _decide(
        service,
        membership,
        lambda session: discard_regrade(
            session, run_id=membership.run.id, regrade_id=regrade, by=membership.caller.id, at=at
        ),
    )


async def _decide(
    service: Service, membership: Membership, change: Callable[[Session], RegradeLine]
) -> m.RegradeRead:
    def do(session: Session) -> RegradeLine:
        refuse_students(session, membership)
        return change(session)

    return _to_read(await service.writer.run(do))


def _to_read(line: RegradeLine) -> m.RegradeRead:
    return m.RegradeRead.of(line, questions=list(line.questions))


def _to_preview_read(
    preview: RegradePreview, job: JobLine | None, limit: int
) -> m.RegradePreviewRead:
    changes: list[Any] = [
        m.GradeChangeRead.of(each, student=each.login, criteria=_to_criteria(each.criteria))
        for each in preview.changes[:limit]
    ]
    return m.RegradePreviewRead.of(
        preview.regrade,
        questions=list(preview.regrade.questions),
        publication=preview.publication,
        is_in_force=preview.is_in_force,
        job=job,
        counts=preview.counts,
        crossings=[
            m.CrossingRead(student=each.student.login, before=each.before, after=each.after)
            for each in preview.crossings
        ],
        overrides=[
            m.KeptOverrideRead(student=login, question=question)
            for login, question in preview.overrides
        ],
        left_out=preview.left_out,
        changes=changes,
    )


def _to_criteria(criteria: list[dict[str, Any]]) -> list[m.CriterionChangeRead]:
    return [m.CriterionChangeRead(**each) for each in criteria]
