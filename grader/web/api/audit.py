"""The audit chain of a course: what staff did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from grader.accounts.callers import Place
from grader.domain.roles import Role, Scope
from grader.store.queries.audit import list_audit
from grader.web.api import staff_models as m
from grader.web.api import staff_presenters as views
from grader.web.api.idempotency import IN_COURSE
from grader.web.auth import allows, place_with
from grader.web.http.body import StrictRoute
from grader.web.pagination import Cursor, Limit, decode_cursor, encode_cursor, link_next
from grader.web.service import ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Audit"])


@router.get(
    "/courses/{course}/audit",
    summary="What staff did",
    responses=IN_COURSE,
    openapi_extra=allows(Scope.GRADES_READ, "instructors"),
)
def get_audit(
    request: Request,
    response: Response,
    place: Annotated[Place, Depends(place_with(Scope.GRADES_READ, Role.INSTRUCTOR))],
    service: ServiceDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> list[m.AuditRead]:
    """What staff did in this course, the newest first."""
    before = decode_cursor(cursor, int)
    with service.database.read() as session:
        lines = list_audit(
            session,
            run_id=place.run.id,
            before=int(before[0]) if before else None,
            limit=limit + 1,
        )
    if len(lines) > limit:
        link_next(request, response, encode_cursor(lines[limit - 1].number))
    return [views.audit_read(line) for line in lines[:limit]]
