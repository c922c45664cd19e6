"""Pages from templates, with what every page has: who is signed in, and the way around."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from grader import __version__
from grader.accounts.callers import Caller, check_session
from grader.accounts.sign_in import make_csrf_token
from grader.errors import KeysetError, NotSignedIn
from grader.web.auth import find_session_secret, refuse_forged
from grader.web.errors.problems import build_error_headers, to_problem
from grader.web.http.body import read_form
from grader.web.pages import format
from grader.web.pages.markdown import to_html, to_inline_html
from grader.web.service import Service, get_received_at, get_service

#: A form with an answer is as large as an answer by JSON may be.
MAX_FORM_BYTES = 1 << 20


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "prose": to_html,
        "line": to_inline_html,
        "points": format.format_points,
        "state": format.format_state,
        "phase": format.format_phase,
        "outcome": format.format_outcome,
        "span": format.format_relative_time,
    }
    environment.globals |= {"time": format.format_time, "version": __version__}
    return environment


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody whose browser is signed in."""

    caller: Caller
    secret: str

    @property
    def name(self) -> str:
        """What the person is called."""
        return self.caller.need_person().name

    @property
    def csrf(self) -> str:
        """What every form of this visitor carries."""
        return make_csrf_token(self.secret)


def get_visitor(request: Request) -> Visitor:
    """Who is signed in; NotSignedIn leads to the page where one signs in."""
    secret = find_session_secret(request)
    if secret is None:
        raise NotSignedIn
    service: Service = get_service(request)
    with service.database.read() as session:
        caller = check_session(session, secret, at=get_received_at(request))
    request.state.caller = caller.id
    service.budgets.spend("read", caller.id)
    return Visitor(caller, secret)


VisitorDep = Annotated[Visitor, Depends(get_visitor)]


async def read_own_form(request: Request, visitor: VisitorDep) -> dict[str, str]:
    """The fields of a form that a page of ours has sent."""
    form = await read_form(request, most_bytes=MAX_FORM_BYTES)
    refuse_forged(request, visitor.secret, form.pop("csrf", ""))
    return form


FormDep = Annotated[dict[str, str], Depends(read_own_form)]


class PageRoute(APIRoute):
    """A route that answers people: errors are pages, and whoever is not signed in may do so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, with errors as pages."""
        handle = super().get_route_handler()

        async def handle_for_people(request: Request) -> Response:
            try:
                return await handle(request)
            except NotSignedIn:
                here = quote(request.url.path) if request.method == "GET" else "/"
                return RedirectResponse(f"/sign-in?next={here}", status_code=303)
            except KeysetError as error:
                return show_error(request, error)

        return handle_for_people


def show_error(request: Request, error: KeysetError) -> HTMLResponse:
    """An error as a page, in the same words that programs get."""
    problem = to_problem(error)
    page = render(request, "error.html", status=problem.status, problem=problem, visitor=None)
    page.headers.update(build_error_headers(error))
    return page


def is_htmx_request(request: Request) -> bool:
    """Whether htmx asks, which puts a part of a page in its place."""
    return request.headers.get("HX-Request") == "true"


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page, or a part of one where only that is asked for."""
    page = _environment().get_template(template)
    text = page.render(
        now=get_received_at(request),
        path=request.url.path,
        is_part=is_htmx_request(request),
        **context,
    )
    return HTMLResponse(text, status_code=status)
