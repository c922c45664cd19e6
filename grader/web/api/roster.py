"""Who takes part: the roster, its import with a preview, and sign-in links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from grader.accounts.links import make_link_for
from grader.accounts.roster_plans import Kind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_roster, leave, read_roster
from grader.accounts.sign_in import LINK_LASTS
from grader.domain.roles import Role, Scope
from grader.errors import (
    Refused,
    ReusedKey,
)
from grader.feedback.parts import Part
from grader.store.database import Session
from grader.store.queries.courses import Member, get_member, list_members
from grader.web.api.idempotency import (
    IN_COURSE,
    KeyHeader,
    RequestDigest,
    carry_out_once,
    request_key,
    respond,
)
from grader.web.auth import Registrar, allows
from grader.web.errors.openapi import responses
from grader.web.http.body import Body, StrictRoute
from grader.web.pagination import Cursor, Limit, decode_cursor, encode_cursor, link_next
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Roster"])

MOST_CHARACTERS = 900_000
#: So many students may leave by a complete roster without a word.
_FEW = 5
_Login = Annotated[str, Path(min_length=1, max_length=200, examples=["ada"])]


class MemberRead(Part):
    """Somebody who takes part."""

    enrolment: str
    login: str = Field(examples=["ada"])
    name: str
    email: str | None
    role: Role
    section: str


def _member_read(member: Member) -> MemberRead:
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
    responses=IN_COURSE,
    openapi_extra=allows(Scope.ROSTER, "instructors"),
)
def get_people(
    request: Request,
    response: Response,
    place: Registrar,
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
            run_id=place.run.id,
            role=role,
            after=str(after[0]) if after else None,
            limit=limit + 1,
        )
    if len(members) > limit:
        last = members[limit - 1]
        link_next(request, response, encode_cursor(last.login))
    return [_member_read(each) for each in members[:limit]]


class RosterSent(Body):
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


class ChangeRead(Part):
    """What happens to one person."""

    kind: str = Field(examples=["new"])
    login: str
    name: str
    role: Role
    section: str
    differences: dict[str, tuple[str, str]] = Field(description="What was and what will be.")
    kept: tuple[str, ...] = Field(description="What the roster says otherwise and what stays.")


class PlanRead(Part):
    """What a roster changes; people for whom everything stays are only counted."""

    counts: dict[str, int]
    changes: list[ChangeRead]


def _plan_read(plan: RosterPlan) -> PlanRead:
    return PlanRead(
        counts={kind.value: count for kind, count in plan.counts.items()},
        changes=[
            ChangeRead(
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
    responses=IN_COURSE,
    openapi_extra=allows(Scope.ROSTER, "instructors"),
)
def preview_roster(body: RosterSent, place: Registrar, service: ServiceDep) -> PlanRead:
    """What a roster would change; nothing is changed."""
    roster = read_roster(body.csv)
    with service.database.read() as session:
        return _plan_read(plan_roster(session, place, roster, is_complete=body.is_complete))


@router.post(
    "/courses/{course}/roster",
    summary="Import a roster",
    status_code=201,
    response_model=PlanRead,
    responses={**IN_COURSE, **responses(Refused, ReusedKey, 422)},
    openapi_extra=allows(Scope.ROSTER, "instructors"),
)
async def import_roster(
    body: RosterSent,
    place: Registrar,
    service: ServiceDep,
    at: ReceivedAt,
    digest: RequestDigest,
    key: KeyHeader = None,
) -> Response:
    """Import a roster: accounts are made, people enrolled, roles and sections changed."""
    roster = read_roster(body.csv)

    def do(session: Session) -> str:
        plan = plan_roster(session, place, roster, is_complete=body.is_complete)
        _refuse_exodus(plan, expected=body.leaving)
        apply_roster(session, place, plan, at=at, by=place.caller.id)
        return _plan_read(plan).model_dump_json()

    request = request_key(place.caller.id, key, digest)
    answered = await carry_out_once(service, request, at=at, do=do)
    return respond(answered)


def _refuse_exodus(plan: RosterPlan, *, expected: int | None) -> None:
    """Refuse to send many away unless it is said how many: a roster may have been cut off."""
    leaving = len(plan.of(Kind.LEAVING))
    if leaving == expected or (expected is None and leaving <= _FEW):
        return
    raise Refused(
        f"{leaving} students would leave. If that is meant, send the same with "
        f'"leaving": {leaving}.',
        code="roster.leaving",
    )


@router.delete(
    "/courses/{course}/people/{login}",
    summary="Send somebody away",
    status_code=204,
    responses={**IN_COURSE, **responses(Refused)},
    openapi_extra=allows(Scope.ROSTER, "instructors"),
)
async def remove_member(
    login: _Login, place: Registrar, service: ServiceDep, at: ReceivedAt
) -> None:
    """Note that somebody takes part no longer; nothing is deleted."""

    def do(session: Session) -> None:
        member = get_member(session, run_id=place.run.id, login=login)
        leave(session, place, member, at=at, by=place.caller.id)

    await service.writer.run(do)


class LinkMade(Part):
    """A link that signs in once."""

    login: str
    url: str = Field(examples=["https://grader.example.edu/sign-in/8pTzq"])
    expires_at: datetime


@router.post(
    "/courses/{course}/people/{login}/sign-in-links",
    summary="Make a sign-in link",
    status_code=201,
    responses={**IN_COURSE, **responses(Refused)},
    openapi_extra=allows(Scope.ROSTER, "instructors"),
)
async def create_link(
    login: _Login, place: Registrar, service: ServiceDep, at: ReceivedAt
) -> LinkMade:
    """Make a link with which a student or assistant signs in once, to be sent by mail."""

    def do(session: Session) -> LinkMade:
        member = get_member(session, run_id=place.run.id, login=login)
        code = make_link_for(session, place, member, at=at)
        return LinkMade(
            login=member.login,
            url=f"{service.base_url}/sign-in/{code}",
            expires_at=at + LINK_LASTS,
        )

    return await service.writer.run(do)
