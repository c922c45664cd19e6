"""Reviews: what is to be graded by a person, and saving a review."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from grader.domain.roles import Scope
from grader.errors import OutdatedVersion, RequestRefused, ReusedIdempotencyKey
from grader.grading.reviews.review import (
    ReviewTask,
    format_review_version,
    list_review_tasks,
    review_criterion,
)
from grader.store.database import Session
from grader.web.api import models as m
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    IfMatchHeader,
    SentKeyDep,
    create_once,
    format_etag,
    parse_version,
    to_response,
)
from grader.web.auth import GradesReader, Reviewer, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.pagination import Cursor, Limit, decode_cursor, take_page
from grader.web.params import AssignmentId, AttemptId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Reviews"])

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"


@router.get(
    _ASSIGNMENT + "/reviews",
    summary="What to review",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_reviews(
    request: Request,
    response: Response,
    assignment: AssignmentId,
    membership: GradesReader,
    service: ServiceDep,
    question: Annotated[str | None, Query(max_length=64, description="Only this question.")] = None,
    done: Annotated[bool, Query(description="Instead, what has been reviewed.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> list[m.ReviewTaskRead]:
    """Criteria to be graded by a person, by question and then in a shuffled order."""
    after = decode_cursor(cursor, str, str)
    with service.database.read() as session:
        tasks = list_review_tasks(
            session, service.context, membership, assignment=assignment, question=question
        )
    keys: list[object] = [(each.attempt.id, each.criterion) for each in tasks]
    start = keys.index(after) + 1 if after in keys else 0
    selected = [each for each in tasks[start:] if (each.review is not None) == done]
    page = take_page(
        request, response, selected, limit, lambda last: (last.attempt.id, last.criterion)
    )
    return [_to_task_read(each) for each in page]


def _to_task_read(task: ReviewTask) -> m.ReviewTaskRead:
    review = task.review
    return m.ReviewTaskRead.of(
        task,
        attempt=task.attempt.id,
        question=task.attempt.question,
        max_points=task.possible,
        points=review.points if review else None,
        chosen=review.items if review else [],
        comment=review.comment if review else "",
        version=format_review_version(review),
    )


class ReviewCreate(RequestBody):
    """A review: the rubric's items that apply, or points."""

    criterion: str = Field(min_length=1, max_length=64, examples=["explanation"])
    items: list[int] | None = Field(
        default=None, max_length=100, examples=[[0, 1]], description="Counted from zero."
    )
    points: Decimal | None = Field(default=None, ge=0, max_digits=8, decimal_places=2)
    comment: str = Field(default="", max_length=10_000, examples=["Well explained."])


@router.post(
    "/courses/{course}/attempts/{attempt_id}/reviews",
    summary="Review a criterion",
    status_code=201,
    response_model=m.ReviewRead,
    responses=COURSE_ERRORS
    | build_error_responses(RequestRefused, ReusedIdempotencyKey, OutdatedVersion, 422),
    openapi_extra=describe_access(Scope.GRADES_WRITE, "assistants and instructors"),
)
async def create_review(
    attempt_id: AttemptId,
    body: ReviewCreate,
    membership: Reviewer,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
    version: IfMatchHeader = None,
) -> Response:
    """Grade a text or a file of an attempt, or a criterion that the engine left undecided."""
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
        return m.ReviewRead.of(
            line,
            attempt=line.attempt_id,
            version=format_review_version(line),
            grade=grade.points,
        ).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    answered = await create_once(service, request, at=at, do=do)
    review = m.ReviewRead.model_validate_json(answered.body)
    return to_response(answered, {"ETag": format_etag(review.version)})
