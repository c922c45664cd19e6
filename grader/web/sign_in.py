"""Signing a browser in, for the API and the pages: rate limit, code or password, cookie."""

from __future__ import annotations

from datetime import datetime

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.sign_in import NewSession, check_password, open_session, sign_in_by_link
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
    """Sign in with a password. The hash is slow, so it is checked outside the writer."""

    def check() -> str:
        with service.database.read() as session:
            return check_password(session, login=login, password=password)

    person_id = await run_in_threadpool(check)
    return await service.writer.run(
        lambda session: open_session(session, person_id=person_id, at=at)
    )


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
