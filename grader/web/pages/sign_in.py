"""Signing in by a link or a password, and signing out.

Opening a link signs nobody in, because programs that look at mail open links as well; the button
does.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from grader.accounts.sign_in import SignedIn, sign_out
from grader.errors import NotSignedIn
from grader.web.api.session import by_link, by_password, set_cookie, spend_sign_in
from grader.web.auth import cookie_name, refuse_foreign_origin
from grader.web.http.body import read_form
from grader.web.pages.rendering import FormDep, PageRoute, VisitorDep, render
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Code = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/sign-in")
def show_sign_in(request: Request, next: Annotated[str, Query(max_length=500)] = "/") -> Response:
    """A form for a login and a password."""
    return _page(request, next=next)


@router.post("/sign-in")
async def sign_in(request: Request, service: ServiceDep, at: ReceivedAt) -> Response:
    """Sign in by a password and go on."""
    refuse_foreign_origin(request)
    spend_sign_in(request, service)
    form = await read_form(request)
    goal = form.get("next", "/")
    try:
        signed_in = await by_password(
            service, form.get("login", ""), form.get("password", ""), at=at
        )
    except NotSignedIn as error:
        return _page(request, problem=str(error), next=goal, status=401)
    return _go_on(service, signed_in, goal)


@router.get("/sign-in/{code}")
def show_link(code: Code, request: Request) -> Response:
    """A page with one button."""
    return _page(request, is_link=True)


@router.post("/sign-in/{code}")
async def sign_in_once(
    code: Code, request: Request, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Sign in by a link and go on."""
    refuse_foreign_origin(request)
    spend_sign_in(request, service)
    try:
        signed_in = await by_link(service, code, at=at)
    except NotSignedIn as error:
        return _page(request, problem=str(error), is_link=True, status=401)
    return _go_on(service, signed_in, "/")


@router.post("/sign-out")
async def leave(
    visitor: VisitorDep, form: FormDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Sign this browser out."""
    await service.writer.run(lambda session: sign_out(session, visitor.secret, at=at))
    response = RedirectResponse("/sign-in", status_code=303)
    response.delete_cookie(cookie_name(service), path="/")
    return response


def _go_on(service: Service, signed_in: SignedIn, goal: str) -> Response:
    # Only within this service: a link must not lead through it to another site.
    is_ours = goal.startswith("/") and not goal.startswith(("//", "/\\"))
    response = RedirectResponse(goal if is_ours else "/", status_code=303)
    set_cookie(response, service, signed_in)
    return response


def _page(
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
