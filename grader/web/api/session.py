"""Signing in and out with a browser, and the public keys of receipts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from grader.accounts.callers import check_session, hash_secret
from grader.accounts.sign_in import (
    MAX_PASSWORD_LENGTH,
    make_csrf_token,
    sign_out,
    sign_out_everywhere,
)
from grader.accounts.tokens import revoke_all_own_tokens
from grader.domain.roles import Scope
from grader.errors import MissingRole, MissingScope, NotSignedIn, TooManyRequests
from grader.grading.signing import SigningKey
from grader.store.database import Session
from grader.store.queries.audit import list_signing_keys
from grader.store.queries.credentials import list_browser_sessions
from grader.web.api.models import ApiModel, KeyRead
from grader.web.auth import (
    CredentialsOwner,
    describe_access,
    find_session_secret,
    get_cookie_name,
    refuse_forged,
)
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.service import ReceivedAt, ServiceDep
from grader.web.sign_in import (
    check_sign_in_request,
    open_session_by_code,
    open_session_by_password,
    set_session_cookie,
)

router = APIRouter(route_class=StrictRoute, tags=["Signing in"])


class SessionCreate(RequestBody):
    """A one-time code from a link, or login and password."""

    code: str | None = Field(default=None, max_length=200, examples=["8pTzq"])
    login: str | None = Field(default=None, max_length=200)
    password: str | None = Field(default=None, max_length=MAX_PASSWORD_LENGTH)


class SessionRead(ApiModel):
    """A browser's session; changes must send its CSRF token in X-CSRF-Token."""

    login: str
    name: str
    csrf_token: str
    expires_at: datetime | None = None


@router.post(
    "/session",
    summary="Sign in",
    status_code=201,
    responses=build_error_responses(NotSignedIn, TooManyRequests, 403, 422, 503),
    openapi_extra=describe_access(None, "anybody"),
)
async def create_session(
    request: Request, response: Response, body: SessionCreate, service: ServiceDep, at: ReceivedAt
) -> SessionRead:
    """Sign in with a one-time code or a password, and set the session cookie."""
    check_sign_in_request(request, service)
    if body.code is not None:
        signed_in = await open_session_by_code(service, body.code, at=at)
    else:
        signed_in = await open_session_by_password(
            service, body.login or "", body.password or "", at=at
        )
    set_session_cookie(response, service, signed_in)
    return SessionRead.of(
        signed_in.person,
        csrf_token=make_csrf_token(signed_in.secret),
        expires_at=signed_in.expires_at,
    )


@router.get(
    "/session",
    summary="The current session",
    responses=build_error_responses(NotSignedIn, 503),
    openapi_extra=describe_access(None, "anybody signed in by a browser"),
)
def get_session(request: Request, service: ServiceDep, at: ReceivedAt) -> SessionRead:
    """Who is signed in with this browser, and the CSRF token for changes."""
    secret = find_session_secret(request)
    if secret is None:
        raise NotSignedIn
    with service.database.read() as session:
        caller = check_session(session, secret, at=at)
    person = caller.need_person()
    return SessionRead.of(person, csrf_token=make_csrf_token(secret))


@router.delete(
    "/session",
    summary="Sign out",
    status_code=204,
    responses=build_error_responses(NotSignedIn, 403, 503),
    openapi_extra=describe_access(None, "anybody signed in by a browser"),
)
async def delete_session(
    request: Request, response: Response, service: ServiceDep, at: ReceivedAt
) -> None:
    """Sign this browser out."""
    secret = find_session_secret(request)
    if secret is None:
        raise NotSignedIn
    refuse_forged(request, secret, request.headers.get("X-CSRF-Token", ""))
    await service.writer.run(lambda session: sign_out(session, secret, at=at))
    response.delete_cookie(get_cookie_name(service), path="/")


#: Maximum sessions that are listed, the newest first.
_MAX_LISTED = 100
_OWNER_ERRORS = build_error_responses(NotSignedIn, MissingScope, MissingRole, TooManyRequests, 503)


class OpenSessionRead(ApiModel):
    """A browser in which somebody is signed in."""

    made_at: datetime
    expires_at: datetime
    is_current: bool = Field(description="Whether this request comes from it.")


@router.get(
    "/sessions",
    summary="My sessions",
    responses=_OWNER_ERRORS,
    openapi_extra=describe_access(Scope.TOKENS, "any person"),
)
def get_sessions(
    request: Request, caller: CredentialsOwner, service: ServiceDep, at: ReceivedAt
) -> list[OpenSessionRead]:
    """The browsers in which you are signed in, newest first; at most 100."""
    person, secret = caller.need_person(), find_session_secret(request)
    current = hash_secret(secret) if secret else ""
    with service.database.read() as session:
        lines = list_browser_sessions(session, person_id=person.id, at=at, limit=_MAX_LISTED)
    return [OpenSessionRead.of(each, is_current=each.digest == current) for each in lines]


@router.delete(
    "/sessions",
    summary="Sign out everywhere",
    status_code=204,
    responses=_OWNER_ERRORS | build_error_responses(422),
    openapi_extra=describe_access(Scope.TOKENS, "any person"),
)
async def delete_sessions(
    response: Response,
    caller: CredentialsOwner,
    service: ServiceDep,
    at: ReceivedAt,
    tokens: Annotated[bool, Query(description="Revoke all your tokens as well.")] = False,
) -> None:
    """End your sessions in all browsers; your tokens stay, unless you say otherwise."""
    person = caller.need_person()

    def end(session: Session) -> None:
        sign_out_everywhere(session, person, at=at)
        if tokens:
            revoke_all_own_tokens(session, person, at=at)

    await service.writer.run(end)
    response.delete_cookie(get_cookie_name(service), path="/")


@router.get(
    "/keys",
    summary="Public keys of receipts",
    responses=build_error_responses(503),
    openapi_extra=describe_access(None, "anybody"),
)
def get_keys(service: ServiceDep) -> list[KeyRead]:
    """The public keys of receipts, newest first."""
    with service.database.read() as session:
        keys = list_signing_keys(session).values()
    return [KeyRead.model_validate(SigningKey.from_bytes(each)) for each in keys]
