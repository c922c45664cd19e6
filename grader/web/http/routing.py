"""Finding the route of a request: by method and number of segments, then by pattern.

FastAPI asks every route of every included router whether it matches, twice. With more than a
hundred routes that takes longer than most requests themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.convertors import PathConvertor
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send


def install_route_table(app: FastAPI) -> None:
    """Let an app find its routes by a table, also those that it gets later."""
    router = app.router
    router.middleware_stack = RouteTable(router.middleware_stack, app)


class RouteTable:
    """Finds routes of fixed length; whatever it does not find is left to FastAPI's own router.

    That knows redirects, mounted apps and what to say of a path that is not there.
    """

    def __init__(self, fallback: ASGIApp, app: FastAPI) -> None:
        self._fallback = fallback
        self._router = app.router
        self._known: list[BaseRoute] = []
        self._table: dict[tuple[str, int], list[RouteContext]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its route."""
        if scope["type"] == "http" and not scope.get("root_path"):
            path = scope["path"]
            for context in self._list_candidates(scope["method"], path):
                matched = context.path_regex.match(path)
                if matched:
                    scope["router"] = self._router
                    scope["route"] = context
                    scope["endpoint"] = context.endpoint
                    scope["path_params"] = _convert(context, matched.groupdict())
                    await context.app(scope, receive, send)
                    return
        await self._fallback(scope, receive, send)

    def _list_candidates(self, method: str, path: str) -> Sequence[RouteContext]:
        if self._router.routes is not self._known:
            self._known = self._router.routes
            self._table = _make_table(self._known)
        return self._table.get((method, path.count("/")), ())


def _make_table(routes: Sequence[BaseRoute]) -> dict[tuple[str, int], list[RouteContext]]:
    """Routes by method and number of segments, in their order."""
    table: dict[tuple[str, int], list[RouteContext]] = defaultdict(list)
    for context in iter_route_contexts(routes):
        if isinstance(context.original_route, APIRoute) and _has_fixed_length(context):
            length = (context.path_format or "").count("/")
            for method in context.methods or ():
                table[method, length].append(context)
    return table


def _has_fixed_length(context: RouteContext) -> bool:
    return not any(isinstance(each, PathConvertor) for each in context.param_convertors.values())


def _convert(context: RouteContext, matched: dict[str, str]) -> dict[str, object]:
    return {name: context.param_convertors[name].convert(value) for name, value in matched.items()}
