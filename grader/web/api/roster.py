"""Who takes part: the roster, its import with a preview, and sign-in links."""

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
from grader.feedback.base import ReportModel
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, get_member, list_members
from grader.web.api.idempotency import (
    COURSE_ERRORS,
    IdempotencyKeyHeader,
    RequestDigest,
    create_once,
    make_request_key,
    to_response,
)
from grader.web.auth import RosterManager, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.pagination import Cursor, Limit, add_next_link, decode_cursor, encode_cursor
from grader.web.params import StudentLogin
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Roster"])

MOST_CHARACTERS = 900_000
#: So many students may leave by a complete roster without a word.
_MOST_UNCONFIRMED_LEAVING = 5


class MemberRead(ReportModel):
    """Somebody who takes part."""

    enrolment: str
    login: str = Field(examples=["ada"])
    name: str
    email: str | None
    role: Role
    section: str


def _to_member_read(member: MemberLine) -> MemberRead:
    return MemberRead(
        enrolment=member.enrolment.id,
        login=member.login,
        name=member.name,
        email=member.email,
        role=member.enrolment.role,
        section=member.enrolment.section,
    )


@router.get(
    "/courses/{course}/people",
    summary="Who takes part",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
def get_people(
    request: Request,
    response: Response,
    membership: RosterManager,
    service: ServiceDep,
    role: Annotated[Role | None, Query(description="Only these.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> list[MemberRead]:
    """Who takes part, by login."""
    after = decode_cursor(cursor, str)
    with service.database.read() as session:
        members = list_members(
            session,
            run_id=membership.run.id,
            role=role,
            after=str(after[0]) if after else None,
            limit=limit + 1,
        )
    if len(members) > limit:
        last = members[limit - 1]
        add_next_link(request, response, encode_cursor(last.login))
    return [_to_member_read(each) for each in members[:limit]]


class RosterImport(RequestBody):
    """A roster as CSV text."""

    csv: str = Field(
        max_length=MOST_CHARACTERS,
        description="With a heading: login, name, and if wanted email, role, section.",
        examples=["login,name,role\nada,Ada Lovelace,student\n"],
    )
    is_complete: bool = Field(default=False, description="Students who are not on it leave.")
    leaving: int | None = Field(
        default=None,
        ge=0,
        description="How many are expected to leave, as the preview counts them; needed where it "
        "is more than a few.",
    )


class RosterChangeRead(ReportModel):
    """What happens to one person."""

    kind: str = Field(examples=["new"])
    login: str
    name: str
    role: Role
    section: str
    differences: dict[str, tuple[str, str]] = Field(description="What was and what will be.")
    kept: tuple[str, ...] = Field(description="What the roster says otherwise and what stays.")


class RosterPlanRead(ReportModel):
    """What a roster changes; people for whom everything stays are only counted."""

    counts: dict[str, int]
    changes: list[RosterChangeRead]


def _to_plan_read(plan: RosterPlan) -> RosterPlanRead:
    return RosterPlanRead(
        counts={kind.value: count for kind, count in plan.counts.items()},
        changes=[
            RosterChangeRead(
                kind=each.kind.value,
                login=each.login,
                name=each.name,
                role=each.role,
                section=each.section,
                differences={each.field: (each.before, each.after) for each in each.differences},
                kept=each.kept,
            )
            for each in plan.changes
            if each.kind.value != "unchanged" or each.kept
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
    """What a roster would change; nothing is changed."""
    roster = read_roster(body.csv)
    with service.database.read() as session:
        return _to_plan_read(plan_roster(session, membership, roster, is_complete=body.is_complete))


@router.post(
    "/courses/{course}/roster",
    summary="Import a roster",
    status_code=201,
    response_model=RosterPlanRead,
    responses={**COURSE_ERRORS, **build_error_responses(RequestRefused, ReusedIdempotencyKey, 422)},
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def import_roster(
    body: RosterImport,
    membership: RosterManager,
    service: ServiceDep,
    at: ReceivedAt,
    digest: RequestDigest,
    key: IdempotencyKeyHeader = None,
) -> Response:
    """Import a roster: accounts are made, people enrolled, roles and sections changed."""
    roster = read_roster(body.csv)

    def do(session: Session) -> str:
        plan = plan_roster(session, membership, roster, is_complete=body.is_complete)
        _refuse_mass_removal(plan, expected=body.leaving)
        apply_roster(session, membership, plan, at=at, by=membership.caller.id)
        return _to_plan_read(plan).model_dump_json()

    request = make_request_key(membership.caller.id, key, digest)
    answered = await create_once(service, request, at=at, do=do)
    return to_response(answered)


def _refuse_mass_removal(plan: RosterPlan, *, expected: int | None) -> None:
    """Refuse to send many away unless it is said how many: a roster may have been cut off."""
    leaving = len(plan.of(RosterChangeKind.LEAVING))
    if leaving == expected or (expected is None and leaving <= _MOST_UNCONFIRMED_LEAVING):
        return
    raise RequestRefused(
        f"{leaving} students would leave. If that is meant, send the same with "
        f'"leaving": {leaving}.',
        code="roster.leaving",
    )


@router.delete(
    "/courses/{course}/people/{login}",
    summary="Send somebody away",
    status_code=204,
    responses={**COURSE_ERRORS, **build_error_responses(RequestRefused)},
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def remove_member(
    login: StudentLogin, membership: RosterManager, service: ServiceDep, at: ReceivedAt
) -> None:
    """Note that somebody takes part no longer; nothing is deleted."""

    def do(session: Session) -> None:
        member = get_member(session, run_id=membership.run.id, login=login)
        end_enrolment(session, membership, member, at=at, by=membership.caller.id)

    await service.writer.run(do)


class SignInLinkRead(ReportModel):
    """A link that signs in once."""

    login: str
    url: str = Field(examples=["https://grader.example.edu/sign-in/8pTzq"])
    expires_at: datetime


@router.post(
    "/courses/{course}/people/{login}/sign-in-links",
    summary="Make a sign-in link",
    status_code=201,
    responses={**COURSE_ERRORS, **build_error_responses(RequestRefused)},
    openapi_extra=describe_access(Scope.ROSTER, "instructors"),
)
async def create_link(
    login: StudentLogin, membership: RosterManager, service: ServiceDep, at: ReceivedAt
) -> SignInLinkRead:
    """Make a link with which a student or assistant signs in once, to be sent by mail."""

    def do(session: Session) -> SignInLinkRead:
        member = get_member(session, run_id=membership.run.id, login=login)
        code = make_link_for(session, membership, member, at=at)
        return SignInLinkRead(
            login=member.login,
            url=f"{service.base_url}/sign-in/{code}",
            expires_at=at + LINK_LIFETIME,
        )

    return await service.writer.run(do)
