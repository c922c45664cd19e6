"""The audit chain of a course: what staff did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from grader.accounts.callers import Membership
from grader.domain.roles import Role, Scope
from grader.store.queries.audit import list_audit
from grader.web.api import models as m
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.auth import describe_access, make_membership_dependency
from grader.web.http.body import StrictRoute
from grader.web.pagination import Cursor, Limit, decode_cursor, take_page
from grader.web.service import ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Audit"])


@router.get(
    "/courses/{course}/audit",
    summary="What staff did",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.GRADES_READ, "instructors"),
)
def get_audit(
    request: Request,
    response: Response,
    membership: Annotated[
        Membership, Depends(make_membership_dependency(Scope.GRADES_READ, Role.INSTRUCTOR))
    ],
    service: ServiceDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> list[m.AuditRead]:
    """What staff did in this course, newest first."""
    before = decode_cursor(cursor, int)
    with service.database.read() as session:
        lines = list_audit(
            session,
            run_id=membership.run.id,
            before=int(before[0]) if before else None,
            limit=limit + 1,
        )
    page = take_page(request, response, lines, limit, lambda last: (last.number,))
    return [m.AuditRead.model_validate(line) for line in page]
