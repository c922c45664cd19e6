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
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Mount, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from grader.web.http.direct import DirectAnswers, DirectRequest
from grader.web.lazy_routes import LazyRoutes


def install_route_table(app: FastAPI) -> None:
    """Let an app find its routes by a table, also those that it gets later.

    The table stands before the app's layers, so that direct routes need none of them.
    """
    router = app.router
    router.middleware_stack = FoundRoutes(router.middleware_stack)
    app.add_middleware(RouteTable, router=router)


class FoundRoutes:
    """Hands requests to the routes that the table has found, behind all layers of the app.

    Whatever it has not found is left to FastAPI's own router, which knows redirects and what to say
    of other methods.
    """

    def __init__(self, fallback: ASGIApp) -> None:
        self._fallback = fallback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its route."""
        found, other = scope.get("route"), scope.get(_OTHER)
        if isinstance(found, RouteContext):
            await found.app(scope, receive, send)
        elif other is _NOWHERE:
            raise HTTPException(404)
        elif other is not None:
            await other.handle(scope, receive, send)
        else:
            await self._fallback(scope, receive, send)


#: In a scope: the mounted app of a path, or that no route has this path by whatever method.
_OTHER, _NOWHERE = "keyset.other_route", object()


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
        self._paths: dict[int, list[re.Pattern[str]]] = {}
        self._others: list[BaseRoute] = []

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
        if not self._is_fixed(path):
            self._find_other(scope)
        return None

    def _is_fixed(self, path: str) -> bool:
        """Whether a route of fixed length has this path for another method, or but for a slash."""
        return any(
            pattern.match(each)
            for each in (path, path.removesuffix("/"), f"{path}/")
            for pattern in self._paths.get(each.count("/"), ())
        )

    def _find_other(self, scope: Scope) -> None:
        """Note a mounted app in a scope, or that there is nothing."""
        for route in self._others:
            matches, found = route.matches(scope)
            if isinstance(route, Mount) and matches is Match.FULL:
                scope.update(found)
                scope[_OTHER] = route
            if matches is not Match.NONE:
                return
        default = self._router.default
        if not isinstance(default, LazyRoutes) or default.is_loaded:
            scope[_OTHER] = _NOWHERE

    def _list_candidates(self, method: str, path: str) -> Sequence[_Entry]:
        if self._router.routes is not self._known:
            self._known = self._router.routes
            self._table = _make_table(self._known)
            self._paths = _list_patterns(self._table)
            self._others = [each for each in self._known if not _is_in_table(each)]
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


def _list_patterns(
    table: Mapping[tuple[str, int], Sequence[_Entry]],
) -> dict[int, list[re.Pattern[str]]]:
    """The patterns of all paths by number of segments."""
    patterns: dict[int, set[re.Pattern[str]]] = defaultdict(set)
    for (_, length), entries in table.items():
        patterns[length] |= {each.pattern for each in entries}
    return {length: list(found) for length, found in patterns.items()}


def _is_in_table(route: BaseRoute) -> bool:
    return all(
        isinstance(each.original_route, APIRoute) and _has_fixed_length(each)
        for each in iter_route_contexts([route])
    )


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
