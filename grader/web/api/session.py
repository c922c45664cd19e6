"""Signing in and out with a browser, and the public keys of receipts."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response
from pydantic import Field

from grader.accounts.callers import check_session
from grader.accounts.sign_in import MAX_PASSWORD_LENGTH, make_csrf_token, sign_out
from grader.errors import NotSignedIn, TooManyRequests
from grader.grading.signing import SigningKey
from grader.store.queries.audit import list_signing_keys
from grader.web.api.models import ApiModel, KeyRead
from grader.web.auth import (
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
