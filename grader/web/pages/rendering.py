"""Templates as responses, and the routes of pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache, partial
from inspect import iscoroutinefunction
from typing import Any, cast
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment

from grader.errors import KeysetError, NotSignedIn
from grader.web.errors.problems import build_error_headers, build_problem_response, to_problem
from grader.web.http.direct import DirectAnswers, DirectRequest
from grader.web.jinja import make_environment
from grader.web.pages import format
from grader.web.pages.format import to_html, to_inline_html
from grader.web.pages.visitors import get_visitor, identify_visitor
from grader.web.params import MAX_NAME_LENGTH
from grader.web.service import get_received_at, get_service


@cache
def _environment() -> Environment:
    environment = make_environment()
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
    environment.globals["time"] = format.format_time
    return environment


class PageRoute(DirectAnswers, APIRoute):
    """A route for people: errors are pages, and visitors who are not signed in may sign in.

    Most links to a page have no query. Then there is nothing for FastAPI to read, and the page is
    shown directly.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._context = _find_context(self.dependant) if self.methods == {"GET"} else None

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler, with errors as pages."""
        return partial(_handle_for_people, super().get_route_handler())

    async def answer_directly(self, request: DirectRequest) -> Response | None:
        """Show a page that its path alone describes."""
        has_long_name = any(len(each) > MAX_NAME_LENGTH for each in request.path_params.values())
        if self._context is None or request.scope["query_string"] or has_long_name:
            return None
        return await _handle_for_people(partial(self._show, self._context), request)

    async def _show(self, context: Dependant, request: Request) -> Response:
        visitor = await get_visitor(request)
        make_page: Any = context.call
        page = await make_page(request=request, visitor=visitor, **request.path_params)
        # The page is the first parameter, because the others have defaults.
        if iscoroutinefunction(self.endpoint):
            return cast(Response, await self.endpoint(page))
        return cast(Response, await get_service(request).run_in_reader(self.endpoint, page))


#: Parameters of paths that may have as many characters as every name.
_SHORT_NAMES = {"course", "assignment", "question"}

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _find_context(wanted: Dependant) -> Dependant | None:
    """The context of a page, if an endpoint needs nothing else that a request must bring."""
    if len(wanted.dependencies) != 1:
        return None
    (context,) = wanted.dependencies
    is_alone = {each.alias for each in context.path_params} <= _SHORT_NAMES and not (
        wanted.path_params
        or wanted.header_params
        or wanted.cookie_params
        or wanted.body_params
        or any(each.field_info.is_required() for each in wanted.query_params)
        or wanted.request_param_name
        or wanted.response_param_name
        or wanted.background_tasks_param_name
    )
    return context if is_alone and hasattr(context.call, "is_page_context") else None


async def _handle_for_people(handle: _Handler, request: Request) -> Response:
    try:
        return await _handle_identified(handle, request)
    except NotSignedIn:
        target = quote(request.url.path) if request.method == "GET" else "/"
        return RedirectResponse(f"/sign-in?next={target}", status_code=303)
    except KeysetError as error:
        return build_problem_response(to_problem(error), request, build_error_headers(error))


async def _handle_identified(handle: _Handler, request: Request) -> Response:
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
