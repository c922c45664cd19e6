"""Signing a browser in, for the API and the pages: rate limits, code or password, cookie."""

from __future__ import annotations

from datetime import datetime

from fastapi import Request, Response

from grader.accounts.sign_in import (
    NewSession,
    StoredPassword,
    count_password_try,
    find_password,
    open_session,
    sign_in_by_link,
    verify_password,
)
from grader.web.auth import get_cookie_name, refuse_foreign_origin
from grader.web.service import Service


def check_sign_in_request(request: Request, service: Service) -> None:
    """Refuse requests from other sites, and limit how often one address may try."""
    refuse_foreign_origin(request)
    address = request.client.host if request.client else "unknown"
    service.budgets.spend("sign_in", address)


async def open_session_by_code(service: Service, code: str, *, at: datetime) -> NewSession:
    """Sign in with a one-time code."""
    return await service.writer.run(lambda session: sign_in_by_link(session, code, at=at))


async def open_session_by_password(
    service: Service, login: str, password: str, *, at: datetime
) -> NewSession:
    """Sign in with a password."""
    person_id = await check_password(service, login, password, at=at)
    return await service.writer.run(
        lambda session: open_session(session, person_id=person_id, at=at)
    )


async def check_password(service: Service, login: str, password: str, *, at: datetime) -> str:
    """The id of the person with this login and password.

    The hash is slow and large. So it is computed outside the writer, by few threads, and not at all
    over the limit of the login.

    Raises
    ------
    NotSignedIn
        If the login or the password is wrong.
    TooManyRequests
        If there were too many wrong passwords for the login.
    Unavailable
        If too many are signing in at this moment; then it is not counted as a try.
    """

    def find() -> StoredPassword | None:
        with service.database.read() as session:
            return find_password(session, login=login)

    service.hashing.refuse_crowd()
    most = service.failed_sign_ins
    await service.writer.run(lambda session: count_password_try(session, login, at=at, most=most))
    stored = await service.run_in_reader(find)
    return await service.hashing.run(verify_password, stored, password)


def set_session_cookie(response: Response, service: Service, signed_in: NewSession) -> None:
    """Store the session in a cookie that scripts and other sites cannot use."""
    response.set_cookie(
        get_cookie_name(service),
        signed_in.secret,
        expires=signed_in.expires_at,
        path="/",
        httponly=True,
        samesite="lax",
        secure=service.is_https,
    )
