"""The roster: its members, its import with a preview, and sign-in links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from grader.accounts.roster_files import read_roster
from grader.accounts.roster_plans import RosterChangeKind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_roster, end_enrolment
from grader.accounts.sign_in import LINK_LIFETIME, make_link_for
from grader.domain.roles import Role, Scope
from grader.errors import RequestRefused, ReusedIdempotencyKey
from grader.store.database import Session
from grader.store.queries.courses import get_member, list_members
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    SentKeyDep,
    create_once,
    to_response,
)
from grader.web.api.models import ApiModel
from grader.web.auth import RosterManager, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.pagination import Cursor, Limit, decode_cursor, take_page
from grader.web.params import StudentLogin
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Roster"])

_MAX_CHARACTERS = 900_000
# How many students a complete roster may remove without confirmation.
_MAX_UNCONFIRMED_LEAVING = 5


class MemberRead(ApiModel):
    """A member of a course run."""

    enrolment: str
    login: str = Field(examples=["ada"])
    name: str
    email: str | None
    role: Role
    section: str


@router.get(
    "/courses/{course}/people",
    summary="All members",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
def get_people(
    request: Request,
    response: Response,
    membership: RosterManager,
    service: ServiceDep,
    role: Annotated[Role | None, Query(description="Only members with this role.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> list[MemberRead]:
    """The members of a course run, by login."""
    after = decode_cursor(cursor, str)
    with service.database.read() as session:
        members = list_members(
            session,
            run_id=membership.run.id,
            role=role,
            after=str(after[0]) if after else None,
            limit=limit + 1,
        )
    page = take_page(request, response, members, limit, lambda last: (last.login,))
    return [
        MemberRead.of(
            each,
            enrolment=each.enrolment.id,
            role=each.enrolment.role,
            section=each.enrolment.section,
        )
        for each in page
    ]


class RosterImport(RequestBody):
    """A roster as CSV text."""

    csv: str = Field(
        max_length=_MAX_CHARACTERS,
        description="With a header row: login, name, and optionally email, role, section.",
        examples=["login,name,role\nada,Ada Lovelace,student\n"],
    )
    is_complete: bool = Field(default=False, description="Remove the students who are not on it.")
    leaving: int | None = Field(
        default=None,
        ge=0,
        description="How many students it removes, as counted by the preview; required if more "
        f"than {_MAX_UNCONFIRMED_LEAVING}.",
    )


class RosterChangeRead(ApiModel):
    """The change for one person."""

    kind: str = Field(examples=["new"])
    login: str
    name: str
    role: Role
    section: str
    differences: dict[str, tuple[str, str]] = Field(description="Old and new value by field.")
    kept: tuple[str, ...] = Field(
        description="Fields that differ in the roster but are not changed."
    )


class RosterPlanRead(ApiModel):
    """The changes of a roster; unchanged people are only counted."""

    counts: dict[str, int]
    changes: list[RosterChangeRead]


def _to_plan_read(plan: RosterPlan) -> RosterPlanRead:
    return RosterPlanRead(
        counts={kind.value: count for kind, count in plan.counts.items()},
        changes=[
            RosterChangeRead.of(
                change,
                differences={each.field: (each.before, each.after) for each in change.differences},
            )
            for change in plan.changes
            if change.kind is not RosterChangeKind.UNCHANGED or change.kept
        ],
    )


@router.post(
    "/courses/{course}/roster/preview",
    summary="Preview a roster",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
def preview_roster(
    body: RosterImport, membership: RosterManager, service: ServiceDep
) -> RosterPlanRead:
    """The changes that a roster would make; nothing is changed."""
    roster = read_roster(body.csv)
    with service.database.read() as session:
        return _to_plan_read(plan_roster(session, membership, roster, is_complete=body.is_complete))


@router.post(
    "/courses/{course}/roster",
    summary="Import a roster",
    status_code=201,
    response_model=RosterPlanRead,
    responses=COURSE_ERRORS | build_error_responses(RequestRefused, ReusedIdempotencyKey, 422),
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def import_roster(
    body: RosterImport,
    membership: RosterManager,
    service: ServiceDep,
    at: ReceivedAt,
    key: SentKeyDep,
) -> Response:
    """Import a roster: make accounts, enrol people, change roles and sections."""
    roster = read_roster(body.csv)

    def do(session: Session) -> str:
        plan = plan_roster(session, membership, roster, is_complete=body.is_complete)
        _refuse_mass_removal(plan, expected=body.leaving)
        apply_roster(session, membership, plan, at=at, by=membership.caller.id)
        return _to_plan_read(plan).model_dump_json()

    request = key.of(membership.caller.id) if key else None
    answered = await create_once(service, request, at=at, do=do)
    return to_response(answered)


def _refuse_mass_removal(plan: RosterPlan, *, expected: int | None) -> None:
    """Refuse to remove many students without their number: the roster may be truncated."""
    leaving = len(plan.of(RosterChangeKind.LEAVING))
    if leaving == expected or (expected is None and leaving <= _MAX_UNCONFIRMED_LEAVING):
        return
    raise RequestRefused(
        f"This roster would remove {leaving} students. To confirm, send it again with "
        f'"leaving": {leaving}.',
        code="roster.leaving",
    )


@router.delete(
    "/courses/{course}/people/{login}",
    summary="Remove a member",
    status_code=204,
    responses=COURSE_ERRORS | build_error_responses(RequestRefused),
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def remove_member(
    login: StudentLogin, membership: RosterManager, service: ServiceDep, at: ReceivedAt
) -> None:
    """End a person's enrolment; no data is deleted."""

    def do(session: Session) -> None:
        member = get_member(session, run_id=membership.run.id, login=login)
        end_enrolment(session, membership, member, at=at, by=membership.caller.id)

    await service.writer.run(do)


class SignInLinkRead(ApiModel):
    """A link that signs in once."""

    login: str
    url: str = Field(examples=["https://grader.example.edu/sign-in/8pTzq"])
    expires_at: datetime


@router.post(
    "/courses/{course}/people/{login}/sign-in-links",
    summary="Make a sign-in link",
    status_code=201,
    responses=COURSE_ERRORS | build_error_responses(RequestRefused),
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def create_link(
    login: StudentLogin, membership: RosterManager, service: ServiceDep, at: ReceivedAt
) -> SignInLinkRead:
    """Make a link that signs a student or assistant in once, for example to be mailed."""

    def do(session: Session) -> SignInLinkRead:
        member = get_member(session, run_id=membership.run.id, login=login)
        code = make_link_for(session, membership, member, at=at)
        return SignInLinkRead(
            login=member.login,
            url=f"{service.base_url}/sign-in/{code}",
            expires_at=at + LINK_LIFETIME,
        )

    return await service.writer.run(do)
