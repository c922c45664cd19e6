"""Reviews: what waits for a person, and a person's word on it."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from grader.domain.roles import Scope
from grader.errors import OutdatedVersion, RequestRefused, ReusedIdempotencyKey
from grader.grading.reviews.review import format_review_version, list_review_tasks, review_criterion
from grader.store.database import Session
from grader.web.api import models as m
from grader.web.api import presenters as views
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    IdempotencyKeyHeader,
    IfMatchHeader,
    RequestDigest,
    create_once,
    format_etag,
    make_request_key,
    parse_version,
    to_response,
)
from grader.web.auth import GradesReader, Reviewer, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.pagination import Cursor, Limit, add_next_link, decode_cursor, encode_cursor
from grader.web.params import AssignmentId, AttemptId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Reviews"])

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"


@router.get(
    _ASSIGNMENT + "/reviews",
    summary="What waits for a person",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_reviews(
    request: Request,
    response: Response,
    assignment: AssignmentId,
    membership: GradesReader,
    service: ServiceDep,
    question: Annotated[str | None, Query(max_length=64, description="Only this one.")] = None,
    done: Annotated[bool, Query(description="What was reviewed, not what waits.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> list[m.ReviewTaskRead]:
    """What waits for a person, question by question, in an order that favours nobody."""
    after = decode_cursor(cursor, str, str)
    with service.database.read() as session:
        waiting = list_review_tasks(
            session, service.context, membership, assignment=assignment, question=question
        )
    wanted = [each for each in waiting if (each.review is not None) == done]
    if after is not None:
        places = [(each.attempt.id, each.criterion) for each in waiting]
        last = (str(after[0]), str(after[1]))
        seen = set(places[: places.index(last) + 1]) if last in places else set()
        wanted = [each for each in wanted if (each.attempt.id, each.criterion) not in seen]
    page = wanted[:limit]
    if len(wanted) > limit:
        add_next_link(request, response, encode_cursor(page[-1].attempt.id, page[-1].criterion))
    return [views.to_review_task_read(each) for each in page]


class ReviewCreate(RequestBody):
    """A review: the rubric's items that hold, or points."""

    criterion: str = Field(min_length=1, max_length=64, examples=["explanation"])
    items: list[int] | None = Field(
        default=None, max_length=100, examples=[[0, 1]], description="Counted from zero."
    )
    points: Decimal | None = Field(default=None, ge=0, max_digits=8, decimal_places=2)
    comment: str = Field(default="", max_length=10_000, examples=["Well said."])


@router.post(
    "/courses/{course}/attempts/{attempt_id}/reviews",
    summary="Review a written part",
    status_code=201,
    response_model=m.ReviewRead,
    responses={
        **COURSE_ERRORS,
        **build_error_responses(RequestRefused, ReusedIdempotencyKey, OutdatedVersion, 422),
    },
    openapi_extra=describe_access(Scope.GRADES_WRITE, "assistants and instructors"),
)
async def create_review(
    attempt_id: AttemptId,
    body: ReviewCreate,
    membership: Reviewer,
    service: ServiceDep,
    at: ReceivedAt,
    digest: RequestDigest,
    key: IdempotencyKeyHeader = None,
    version: IfMatchHeader = None,
) -> Response:
    """Review a written part of an attempt, or what the engine could not decide."""
    expected = None if version is None else parse_version(version)

    def do(session: Session) -> str:
        line, grade = review_criterion(
            session,
            service.context,
            membership,
            attempt_id=attempt_id,
            criterion=body.criterion,
            items=body.items,
            points=body.points,
            comment=body.comment,
            version=expected,
            at=at,
        )
        return m.ReviewRead(
            attempt=line.attempt_id,
            criterion=line.criterion,
            points=line.points,
            version=format_review_version(line),
            grade=grade.points,
        ).model_dump_json()

    request = make_request_key(membership.caller.id, key, digest)
    answered = await create_once(service, request, at=at, do=do)
    done = m.ReviewRead.model_validate_json(answered.body)
    return to_response(answered, {"ETag": format_etag(done.version)})
