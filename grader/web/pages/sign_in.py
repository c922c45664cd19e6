"""Signing in by a link or a password, and signing out.

Opening a link does not sign in, because mail scanners open links as well; pressing the button does.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from grader.accounts.sign_in import NewSession, sign_out
from grader.errors import KeysetError, NotSignedIn, TooManyRequests, Unavailable
from grader.web.auth import get_cookie_name
from grader.web.errors.problems import build_error_headers, to_problem
from grader.web.http.body import read_form
from grader.web.pages.context import FormDep, Page
from grader.web.pages.rendering import PageRoute, render
from grader.web.service import ReceivedAt, Service, ServiceDep
from grader.web.sign_in import (
    check_sign_in_request,
    open_session_by_code,
    open_session_by_password,
    set_session_cookie,
)

router = APIRouter(route_class=PageRoute, include_in_schema=False)

LinkCode = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/sign-in")
def show_sign_in(request: Request, next: Annotated[str, Query(max_length=500)] = "/") -> Response:
    """A form for a login and a password."""
    return _render_page(request, next=next)


@router.post("/sign-in")
async def sign_in(request: Request, service: ServiceDep, at: ReceivedAt) -> Response:
    """Sign in by a password, and go on to `next`."""
    check_sign_in_request(request, service)
    form = await read_form(request)
    target = form.get("next", "/")
    try:
        signed_in = await open_session_by_password(
            service, form.get("login", ""), form.get("password", ""), at=at
        )
    except (NotSignedIn, TooManyRequests, Unavailable) as error:
        return _render_refusal(request, error, next=target)
    return _redirect_signed_in(service, signed_in, target)


@router.get("/sign-in/{code}")
def show_sign_in_link(code: LinkCode, request: Request) -> Response:
    """A page with one button."""
    return _render_page(request, is_link=True)


@router.post("/sign-in/{code}")
async def sign_in_once(
    code: LinkCode, request: Request, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Sign in by a link."""
    check_sign_in_request(request, service)
    try:
        signed_in = await open_session_by_code(service, code, at=at)
    except NotSignedIn as error:
        return _render_refusal(request, error, is_link=True)
    return _redirect_signed_in(service, signed_in, "/")


@router.post("/sign-out")
async def sign_out_browser(page: Page, form: FormDep) -> Response:
    """Sign this browser out."""
    await page.write(lambda session: sign_out(session, page.visitor.secret, at=page.at))
    response = page.redirect("/sign-in")
    response.delete_cookie(get_cookie_name(page.service), path="/")
    return response


def _redirect_signed_in(service: Service, signed_in: NewSession, target: str) -> Response:
    # An open redirect would let a link lead through this service to another site.
    is_ours = target.startswith("/") and not target.startswith(("//", "/\\"))
    response = RedirectResponse(target if is_ours else "/", status_code=303)
    set_session_cookie(response, service, signed_in)
    return response


def _render_refusal(
    request: Request, error: KeysetError, *, next: str = "/", is_link: bool = False
) -> Response:
    status = to_problem(error).status
    page = _render_page(request, problem=str(error), next=next, is_link=is_link, status=status)
    page.headers.update(build_error_headers(error))
    return page


def _render_page(
    request: Request,
    *,
    problem: str = "",
    next: str = "/",
    is_link: bool = False,
    status: int = 200,
) -> Response:
    return render(
        request,
        "sign_in.html",
        status=status,
        visitor=None,
        problem=problem,
        next=next,
        is_link=is_link,
    )
