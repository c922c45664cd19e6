"""Publications of rubrics and dates."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, Field
from starlette.concurrency import run_in_threadpool

from grader.domain.roles import Scope
from grader.errors import NotFound, RequestRefused, ReusedIdempotencyKey, RubricErrors
from grader.grading.publishing.effect import load_publication_effect
from grader.grading.publishing.publish import check_examples, publish
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Session
from grader.store.queries.publications import find_in_force, list_publications, list_versions
from grader.web.api import models as m
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    SentKeyDep,
    create_once,
    to_response,
)
from grader.web.auth import GradesReader, Publisher, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.params import AssignmentId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Publishing"])

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"


class PublicationCreate(RequestBody):
    """The files of an assignment, as text."""

    form: str = Field(
        max_length=200_000,
        description="The text of assignment.yaml.",
        examples=["id: warm-up\ntitle: Warm-up\nquestions: [thirds]\n"],
    )
    rubrics: dict[str, str] = Field(
        description="The text of each question's file, by question.",
        examples=[{"thirds": "id: thirds\n…"}],
        max_length=200,
    )
    opens_at: AwareDatetime | None = Field(
        default=None, description="Instead of the date in the file."
    )
    due_at: AwareDatetime | None = Field(
        default=None,
        description="Instead of the date in the file.",
        examples=["2026-12-01T22:59:59Z"],
    )
    note: str = Field(default="", max_length=2000, examples=["A clearer prompt."])


@router.post(
    _ASSIGNMENT + "/publications/preview",
    summary="Whom a publication would touch",
    responses=COURSE_ERRORS | build_error_responses(RubricErrors, 422),
    openapi_extra=describe_access(Scope.PUBLISH, "instructors"),
)
def post_publication_preview(
    assignment: AssignmentId, body: PublicationCreate, membership: Publisher, service: ServiceDep
) -> list[m.QuestionEffectRead]:
    """The questions that change, and what a regrade would do; nothing is published."""
    read = read_assignment(assignment, body.form, body.rubrics)
    with service.database.read() as session:
        effect = load_publication_effect(
            session, service.context, run_id=membership.run.id, candidate=read
        )
    return [m.QuestionEffectRead.of(each) for each in effect]


@router.post(
    _ASSIGNMENT + "/publications",
    summary="Publish rubrics and dates",
    status_code=201,
    response_model=m.PublicationRead,
    responses=COURSE_ERRORS
    | build_error_responses(RequestRefused, ReusedIdempotencyKey, RubricErrors, 422),
    openapi_extra=describe_access(Scope.PUBLISH, "instructors"),
)
async def create_publication(
    assignment: AssignmentId,
    body: PublicationCreate,
    membership: Publisher,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Publish an assignment's rubrics and dates; existing attempts keep their verdicts."""

    def read_and_check() -> CompiledAssignment:
        read = read_assignment(assignment, body.form, body.rubrics)
        with service.database.read() as session:
            current = find_in_force(session, run_id=membership.run.id, assignment=assignment)
            published = list_versions(session, publication_ids=[current.id] if current else [])
        check_examples(read, known={each for line in published.values() for each in line.values()})
        return read

    read = await run_in_threadpool(read_and_check)

    def do(session: Session) -> str:
        line = publish(
            session,
            service.context,
            run=membership.run,
            assignment=read,
            opens_at=body.opens_at or read.form.opens_at(),
            due_at=body.due_at or read.form.due_at(),
            note=body.note,
            at=at,
            by=membership.caller.id,
        )
        versions = list_versions(session, publication_ids=[line.id])
        return m.PublicationRead.of(line, versions=versions.get(line.id, {})).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    answered = await create_once(service, request, at=at, do=do)
    return to_response(answered)


@router.get(
    _ASSIGNMENT + "/publications",
    summary="All publications",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_publications(
    assignment: AssignmentId, membership: GradesReader, service: ServiceDep
) -> list[m.PublicationRead]:
    """All publications of an assignment, newest first."""
    with service.database.read() as session:
        lines = list_publications(session, run_id=membership.run.id, assignment=assignment)
        if not lines:
            raise NotFound
        versions = list_versions(session, publication_ids=[each.id for each in lines])
    return [m.PublicationRead.of(each, versions=versions.get(each.id, {})) for each in lines]
