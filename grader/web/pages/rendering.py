"""Templates as responses, and errors as pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from grader import __version__
from grader.errors import KeysetError, NotSignedIn
from grader.web.errors.problems import build_error_headers, to_problem
from grader.web.pages import format
from grader.web.pages.format import to_html, to_inline_html
from grader.web.pages.visitors import identify_visitor
from grader.web.service import get_received_at


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
        "author_prose": format.to_author_html,
        "author_line": format.to_author_inline_html,
        "points": format.format_points,
        "state": format.format_state,
        "phase": format.format_phase,
        "outcome": format.format_outcome,
        "span": format.format_relative_time,
    }
    environment.globals |= {"time": format.format_time, "version": __version__}
    return environment


class PageRoute(APIRoute):
    """A route for people: errors are pages, and visitors who are not signed in may sign in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, with errors as pages."""
        handle = super().get_route_handler()

        async def handle_for_people(request: Request) -> Response:
            try:
                return await _handle_identified(handle, request)
            except NotSignedIn:
                target = quote(request.url.path) if request.method == "GET" else "/"
                return RedirectResponse(f"/sign-in?next={target}", status_code=303)
            except KeysetError as error:
                problem = to_problem(error)
                page = render(
                    request, "error.html", status=problem.status, problem=problem, visitor=None
                )
                page.headers.update(build_error_headers(error))
                return page

        return handle_for_people


async def _handle_identified(
    handle: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
) -> Response:
    """Tell nothing, not even what is wrong with a request, before it is known who visits."""
    try:
        response = await handle(request)
    except NotSignedIn:
        raise
    except Exception:
        await identify_visitor(request)
        raise
    await identify_visitor(request)
    return response


def is_htmx_request(request: Request) -> bool:
    """Whether htmx asks, which replaces only a part of the page."""
    return request.headers.get("HX-Request") == "true"


def render_fragment(template: str, **values: Any) -> str:
    """A template as text, for a part of a page that is kept."""
    return _environment().get_template(template).render(**values)


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A template as a response."""
    text = (
        _environment()
        .get_template(template)
        .render(
            now=get_received_at(request),
            path=request.url.path,
            is_part=is_htmx_request(request),
            **values,
        )
    )
    return HTMLResponse(text, status_code=status)
