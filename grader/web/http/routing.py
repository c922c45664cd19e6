"""Finding the route of a request: by method and number of segments, then by pattern.

FastAPI asks every route of every included router whether it matches, twice. With more than a
hundred routes that takes longer than most requests themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.convertors import Convertor, PathConvertor, StringConvertor
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from grader.web.http.direct import DirectAnswers, DirectRequest


def install_route_table(app: FastAPI) -> None:
    """Let an app find its routes by a table, also those that it gets later.

    The table stands before the app's layers, so that direct routes need none of them.
    """
    router = app.router
    router.middleware_stack = FoundRoutes(router.middleware_stack)
    app.add_middleware(RouteTable, router=router)


class FoundRoutes:
    """Hands requests to the routes that the table has found, behind all layers of the app.

    Whatever it has not found is left to FastAPI's own router, which knows redirects, mounted apps
    and what to say of a path that is not there.
    """

    def __init__(self, fallback: ASGIApp) -> None:
        self._fallback = fallback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its route."""
        found = scope.get("route")
        handle = found.app if isinstance(found, RouteContext) else self._fallback
        await handle(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A route and what is needed to find it, which FastAPI's own object has at several removes."""

    context: RouteContext
    pattern: re.Pattern[str]
    endpoint: Callable[..., Any] | None
    #: Those that do more than leave the text as it is.
    convertors: Mapping[str, Convertor[Any]]
    direct: DirectAnswers | None

    def convert(self, matched: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a path that matched."""
        for name, convertor in self.convertors.items():
            matched[name] = convertor.convert(matched[name])
        return matched


class RouteTable:
    """Finds routes of fixed length; direct ones answer at once where they can."""

    def __init__(self, app: ASGIApp, router: Router) -> None:
        self._app = app
        self._router = router
        self._known: list[BaseRoute] = []
        self._table: dict[tuple[str, int], list[_Entry]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the route of a request."""
        if scope["type"] == "http" and not scope.get("root_path"):
            direct = self._find(scope)
            if direct is not None:
                request = DirectRequest(scope, receive)
                if await direct.try_directly(request, send):
                    return
                receive = request.receive_again
        await self._app(scope, receive, send)

    def _find(self, scope: Scope) -> DirectAnswers | None:
        """Note the route of a request in its scope, and return it if it is a direct one."""
        path = scope["path"]
        for entry in self._list_candidates(scope["method"], path):
            matched = entry.pattern.match(path)
            if matched:
                scope["router"] = self._router
                scope["route"] = entry.context
                scope["endpoint"] = entry.endpoint
                scope["path_params"] = entry.convert(matched.groupdict())
                return entry.direct
        return None

    def _list_candidates(self, method: str, path: str) -> Sequence[_Entry]:
        if self._router.routes is not self._known:
            self._known = self._router.routes
            self._table = _make_table(self._known)
        return self._table.get((method, path.count("/")), ())


def _make_table(routes: Sequence[BaseRoute]) -> dict[tuple[str, int], list[_Entry]]:
    """Routes by method and number of segments, in their order."""
    table: dict[tuple[str, int], list[_Entry]] = defaultdict(list)
    for context in iter_route_contexts(routes):
        if isinstance(context.original_route, APIRoute) and _has_fixed_length(context):
            length = (context.path_format or "").count("/")
            entry = _make_entry(context)
            for method in context.methods or ():
                table[method, length].append(entry)
    return table


def _has_fixed_length(context: RouteContext) -> bool:
    return not any(isinstance(each, PathConvertor) for each in context.param_convertors.values())


def _make_entry(context: RouteContext) -> _Entry:
    convertors = {
        name: each
        for name, each in context.param_convertors.items()
        if not isinstance(each, StringConvertor)
    }
    route = context.original_route
    direct = route if isinstance(route, DirectAnswers) else None
    return _Entry(context, context.path_regex, context.endpoint, convertors, direct)
