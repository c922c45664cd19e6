"""The page that a sign-in link leads to.

Opening it signs nobody in, because programs that look at mail open links as well; the button does.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader

from grader.errors import NotSignedIn
from grader.web.access import refuse_foreign_origin
from grader.web.api.session import by_link, set_cookie, spend_sign_in
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(include_in_schema=False)

_templates = Environment(loader=PackageLoader("grader.web"), autoescape=True)
Code = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/sign-in/{code}")
def show_sign_in(code: Code) -> HTMLResponse:
    """A page with one button."""
    return _page(problem="")


@router.post("/sign-in/{code}")
async def sign_in(code: Code, request: Request, service: ServiceDep, at: ReceivedAt) -> Response:
    """Sign in and go on."""
    refuse_foreign_origin(request)
    spend_sign_in(request, service)
    try:
        signed_in = await by_link(service, code, at=at)
    except NotSignedIn as error:
        return _page(problem=str(error), status=401)
    response = RedirectResponse("/", status_code=303)
    set_cookie(response, service, signed_in)
    return response


def _page(*, problem: str, status: int = 200) -> HTMLResponse:
    page = _templates.get_template("sign_in.html").render(problem=problem)
    return HTMLResponse(page, status_code=status)
