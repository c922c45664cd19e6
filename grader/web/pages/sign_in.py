"""Signing in by a link or a password, and signing out.

Opening a link signs nobody in, because programs that look at mail open links as well; the button
does.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from grader.accounts.sign_in import NewSession, sign_out
from grader.errors import NotSignedIn
from grader.web.api.session import (
    check_sign_in_rate,
    set_cookie,
    sign_in_with_code,
    sign_in_with_password,
)
from grader.web.auth import get_cookie_name, refuse_foreign_origin
from grader.web.http.body import read_form
from grader.web.pages.rendering import FormDep, PageRoute, VisitorDep, render
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

LinkCode = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/sign-in")
def show_sign_in(request: Request, next: Annotated[str, Query(max_length=500)] = "/") -> Response:
    """A form for a login and a password."""
    return _render_page(request, next=next)


@router.post("/sign-in")
async def sign_in(request: Request, service: ServiceDep, at: ReceivedAt) -> Response:
    """Sign in by a password and go on."""
    refuse_foreign_origin(request)
    check_sign_in_rate(request, service)
    form = await read_form(request)
    goal = form.get("next", "/")
    try:
        signed_in = await sign_in_with_password(
            service, form.get("login", ""), form.get("password", ""), at=at
        )
    except NotSignedIn as error:
        return _render_page(request, problem=str(error), next=goal, status=401)
    return _redirect_signed_in(service, signed_in, goal)


@router.get("/sign-in/{code}")
def show_sign_in_link(code: LinkCode, request: Request) -> Response:
    """A page with one button."""
    return _render_page(request, is_link=True)


@router.post("/sign-in/{code}")
async def sign_in_once(
    code: LinkCode, request: Request, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Sign in by a link and go on."""
    refuse_foreign_origin(request)
    check_sign_in_rate(request, service)
    try:
        signed_in = await sign_in_with_code(service, code, at=at)
    except NotSignedIn as error:
        return _render_page(request, problem=str(error), is_link=True, status=401)
    return _redirect_signed_in(service, signed_in, "/")


@router.post("/sign-out")
async def sign_out_browser(
    visitor: VisitorDep, form: FormDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Sign this browser out."""
    await service.writer.run(lambda session: sign_out(session, visitor.secret, at=at))
    response = RedirectResponse("/sign-in", status_code=303)
    response.delete_cookie(get_cookie_name(service), path="/")
    return response


def _redirect_signed_in(service: Service, signed_in: NewSession, goal: str) -> Response:
    # Only within this service: a link must not lead through it to another site.
    is_ours = goal.startswith("/") and not goal.startswith(("//", "/\\"))
    response = RedirectResponse(goal if is_ours else "/", status_code=303)
    set_cookie(response, service, signed_in)
    return response


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
