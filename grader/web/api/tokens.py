"""Personal tokens, and service tokens of a course."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from grader.accounts.tokens import (
    make_own_token,
    make_service_token,
    revoke_own_token,
    revoke_service_token,
)
from grader.domain.roles import Scope
from grader.errors import (
    MissingRole,
    MissingScope,
    NotSignedIn,
    TooManyRequests,
)
from grader.store.queries.credentials import list_tokens
from grader.web.api import models as m
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.auth import CredentialsOwner, TokenManager, describe_access
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.params import TokenId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Tokens"])


class TokenCreate(RequestBody):
    """A new token."""

    label: str = Field(min_length=1, max_length=200, examples=["gradebook sync"])
    scopes: list[Scope] = Field(min_length=1, max_length=20, examples=[["grades:read"]])
    days: int = Field(default=90, ge=1, le=400)


@router.post(
    "/courses/{course}/tokens",
    summary="Make a token for a service",
    status_code=201,
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.TOKENS, "instructors"),
)
async def create_service_token(
    body: TokenCreate, membership: TokenManager, service: ServiceDep, at: ReceivedAt
) -> m.TokenCreated:
    """Make a token for a service of this course; it is shown only once."""
    token = await service.writer.run(
        lambda session: make_service_token(
            session, membership, label=body.label, scopes=body.scopes, days=body.days, at=at
        )
    )
    return m.TokenCreated.of(token.line, token=token.secret)


@router.get(
    "/courses/{course}/tokens",
    summary="Tokens of services",
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.TOKENS, "instructors"),
)
def get_service_tokens(membership: TokenManager, service: ServiceDep) -> list[m.TokenRead]:
    """The tokens of services of this course."""
    with service.database.read() as session:
        lines = list_tokens(session, run_id=membership.run.id)
    return [m.TokenRead.model_validate(line) for line in lines]


@router.delete(
    "/courses/{course}/tokens/{token_id}",
    summary="Revoke a service's token",
    status_code=204,
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.TOKENS, "instructors"),
)
async def delete_service_token(
    token_id: TokenId, membership: TokenManager, service: ServiceDep, at: ReceivedAt
) -> None:
    """Revoke a service token, effective immediately."""
    await service.writer.run(
        lambda session: revoke_service_token(session, membership, token_id=token_id, at=at)
    )


@router.post(
    "/tokens",
    summary="Make a token for myself",
    status_code=201,
    responses=build_error_responses(
        NotSignedIn, MissingScope, MissingRole, TooManyRequests, 422, 503
    ),
    openapi_extra=describe_access(Scope.TOKENS, "any person"),
)
async def create_token(
    body: TokenCreate, caller: CredentialsOwner, service: ServiceDep, at: ReceivedAt
) -> m.TokenCreated:
    """Make a personal token with some of your own scopes; it is shown only once."""
    token = await service.writer.run(
        lambda session: make_own_token(
            session, caller, label=body.label, scopes=body.scopes, days=body.days, at=at
        )
    )
    return m.TokenCreated.of(token.line, token=token.secret)


@router.get(
    "/tokens",
    summary="My tokens",
    responses=build_error_responses(NotSignedIn, MissingScope, MissingRole, TooManyRequests, 503),
    openapi_extra=describe_access(Scope.TOKENS, "any person"),
)
def get_tokens(caller: CredentialsOwner, service: ServiceDep) -> list[m.TokenRead]:
    """Your own tokens."""
    person = caller.need_person()
    with service.database.read() as session:
        lines = list_tokens(session, person_id=person.id)
    return [m.TokenRead.model_validate(line) for line in lines]


@router.delete(
    "/tokens/{token_id}",
    summary="Revoke a token of mine",
    status_code=204,
    responses=COURSE_ERRORS,
    openapi_extra=describe_access(Scope.TOKENS, "any person"),
)
async def delete_token(
    token_id: TokenId, caller: CredentialsOwner, service: ServiceDep, at: ReceivedAt
) -> None:
    """Revoke one of your own tokens, effective immediately."""
    await service.writer.run(
        lambda session: revoke_own_token(session, caller, token_id=token_id, at=at)
    )
