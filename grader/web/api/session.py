"""Signing in and out with a browser, and the public keys of receipts."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import check_session
from grader.accounts.sign_in import (
    MAX_PASSWORD_LENGTH,
    NewSession,
    check_password,
    make_csrf_token,
    open_session,
    sign_in_by_link,
    sign_out,
)
from grader.errors import NotSignedIn, TooManyRequests
from grader.grading.signing import SigningKey
from grader.store.queries.audit import list_signing_keys
from grader.web.api.models import ApiModel, KeyRead
from grader.web.auth import (
    describe_access,
    find_session_secret,
    get_cookie_name,
    refuse_foreign_origin,
    refuse_forged,
)
from grader.web.errors.openapi import build_error_responses
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.service import ReceivedAt, Service, ServiceDep

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
    refuse_foreign_origin(request)
    check_sign_in_rate(request, service)
    if body.code is not None:
        signed_in = await sign_in_with_code(service, body.code, at=at)
    else:
        signed_in = await sign_in_with_password(
            service, body.login or "", body.password or "", at=at
        )
    set_cookie(response, service, signed_in)
    return SessionRead.of(
        signed_in.person,
        csrf_token=make_csrf_token(signed_in.secret),
        expires_at=signed_in.expires_at,
    )


def check_sign_in_rate(request: Request, service: Service) -> None:
    """Limit the sign-in attempts of an address, against password guessing."""
    address = request.client.host if request.client else "unknown"
    service.budgets.spend("sign_in", address)


async def sign_in_with_code(service: Service, code: str, *, at: datetime) -> NewSession:
    """Sign in with a one-time code."""
    return await service.writer.run(lambda session: sign_in_by_link(session, code, at=at))


async def sign_in_with_password(
    service: Service, login: str, password: str, *, at: datetime
) -> NewSession:
    """Sign in with a password; hashing it is slow and runs in a thread."""

    def check() -> str:
        with service.database.read() as session:
            return check_password(session, login=login, password=password)

    person_id = await run_in_threadpool(check)
    return await service.writer.run(
        lambda session: open_session(session, person_id=person_id, at=at)
    )


def set_cookie(response: Response, service: Service, signed_in: NewSession) -> None:
    """Set the session cookie, which scripts cannot read and other sites cannot use."""
    response.set_cookie(
        get_cookie_name(service),
        signed_in.secret,
        expires=signed_in.expires_at,
        path="/",
        httponly=True,
        samesite="lax",
        secure=service.is_https,
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
