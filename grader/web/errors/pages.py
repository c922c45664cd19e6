"""Errors as pages, for whoever uses a browser."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from grader.web.errors.model import Problem

if TYPE_CHECKING:
    from jinja2 import Template
    from starlette.requests import Request

MEDIA_TYPE = "text/html; charset=utf-8"
#: What programs call; everything else is for people.
_PROGRAM_PATHS = {"/api", "/openapi.json", "/healthz", "/readyz", "/metrics"}
#: Fields of forms that nobody types.
_HIDDEN_FIELDS = {"csrf", "version", "action"}


def is_for_people(path: str) -> bool:
    """Whether an address is a page, or would be one if it existed."""
    # What could not be read as HTTP may have no address at all.
    is_address = path.startswith("/")
    return is_address and path not in _PROGRAM_PATHS and not path.startswith("/api/")


def keep_typed(request: Request, fields: Mapping[str, str]) -> None:
    """Remember the fields of a form, so that a page about an error shows them once more.

    Only for a form of ours: nobody should find on our page what another site made a browser send.
    """
    request.state.typed = dict(fields)


def find_typed(request: Request) -> Mapping[str, str]:
    """What was typed into the form that was sent; empty where there was none."""
    typed: Mapping[str, str] = getattr(request.state, "typed", {})
    return typed


def render_error_page(problem: Problem, typed: Mapping[str, str] | None = None) -> bytes:
    """The page about an error, with a form of what was typed to be sent again."""
    typed = typed or {}
    hidden = {name: typed[name] for name in typed if name.rpartition(".")[2] in _HIDDEN_FIELDS}
    text = _get_template().render(
        problem=problem,
        hidden=hidden,
        typed={name: text for name, text in typed.items() if name not in hidden},
        visitor=None,
    )
    # Half of a surrogate pair cannot be encoded, and an error about it must not cause another one.
    return text.encode("utf-8", "replace")


@cache
def _get_template() -> Template:
    # Imported only when needed, so that the service starts faster.
    from grader.web.jinja import make_environment

    return make_environment().get_template("error.html")
