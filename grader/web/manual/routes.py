"""`/docs`: the API's manual and its errors, as pages that need neither a CDN nor JavaScript."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from grader.web.errors.codes import GROUPS
from grader.web.errors.model import Problem
from grader.web.errors.problems import find_status
from grader.web.manual.model import count_operations, list_chapters
from grader.web.manual.schema_text import list_fields

STATIC = Path(__file__).parents[1] / "static"
# The examples name the host that was asked, so that nobody between may keep the page.
_CACHED = {"Cache-Control": "private, max-age=300"}


class CachedFiles(StaticFiles):
    """Files that are the same for everybody and may be kept for an hour."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return the file, allowed to be kept."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response


def install_manual(app: FastAPI) -> None:
    """Add `/docs`, `/docs/errors` and, unless there is one, `/static`.

    The app is made with ``docs_url=None, redoc_url=None``. The pages tell what the app's OpenAPI
    tells; who may call stands in ``x-roles`` and ``x-scopes`` of an operation.
    """
    assert app.docs_url is None, "FastAPI's own /docs would hide this one"
    if not any(isinstance(route, Mount) and route.path == "/static" for route in app.routes):
        app.mount("/static", CachedFiles(directory=STATIC), name="static")
    pages = _environment()

    @lru_cache(maxsize=4)
    def render_manual(base: str) -> str:
        spec = app.openapi()
        chapters = list_chapters(spec, base)
        return pages.get_template("manual/manual.html").render(
            info=spec["info"],
            chapters=chapters,
            calls=count_operations(chapters),
            openapi_url=app.openapi_url,
            problem=tuple(list_fields(_problem_schema(), _problem_schema().get("$defs", {}))),
        )

    # Neither is async: to render the page for the first time takes too long for the event loop.
    def show_manual(request: Request) -> HTMLResponse:
        return HTMLResponse(render_manual(str(request.base_url).rstrip("/")), headers=_CACHED)

    def show_errors(request: Request) -> HTMLResponse:
        page = pages.get_template("manual/errors.html")
        text = page.render(info=app.openapi()["info"], groups=GROUPS, status_of=find_status)
        return HTMLResponse(text, headers=_CACHED)

    app.get("/docs", include_in_schema=False)(show_manual)
    app.get("/docs/errors", include_in_schema=False)(show_errors)


def _problem_schema() -> dict[str, Any]:
    return Problem.model_json_schema()


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = format_prose
    environment.filters["inline"] = _format_inline
    return environment


def format_prose(text: str) -> Markup:
    """Paragraphs of plain text with `code` in them, as HTML."""
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())
    return Markup("\n").join(
        Markup("<p>{}</p>").format(_format_inline(part)) for part in paragraphs
    )


def _format_inline(text: str) -> Markup:
    """A line of plain text with `code` in it, as HTML."""
    safe = str(escape(text))
    return Markup(re.sub(r"`{1,2}([^`]+)`{1,2}", r"<code>\1</code>", safe))
