"""Routes that are imported when the service listens already.

The routes of the API and of the pages, with what only they need, are over a quarter of the time of
a start. Nobody waits longer because of that: a request that comes before they are there waits for
them, as it would wait for a service that does not listen yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

_HAS_LOOKED = "keyset.has_looked_in_all_routes"


class LazyRoutes:
    """Stands where an app has no route, and adds the missing ones before it says so.

    They are added behind those that the app has now.
    """

    def __init__(self, app: FastAPI, list_routes: Callable[[], list[BaseRoute]]) -> None:
        self._app = app
        self._list_routes = list_routes
        self._place = len(app.router.routes)
        self._lock = threading.Lock()
        self._say_not_found = app.router.default
        self.is_loaded = False
        app.router.default = self

    def load(self) -> None:
        """Add the routes, unless they are there; any thread may call it at any time."""
        with self._lock:
            if not self.is_loaded:
                known = self._app.router.routes
                first, last = known[: self._place], known[self._place :]
                # A new list, because the event loop may be in the middle of the old one.
                self._app.router.routes = [*first, *self._list_routes(), *last]
                self.is_loaded = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for which there was no route when it arrived."""
        if _HAS_LOOKED in scope:
            await self._say_not_found(scope, receive, send)
            return
        scope[_HAS_LOOKED] = True
        if not self.is_loaded:
            await run_in_threadpool(self.load)
        # Even if they are there now, they may have been added after this request looked for one.
        await self._app.router(scope, receive, send)
