"""A signed-in browser for tests of pages, without JavaScript."""

from __future__ import annotations

import re
from typing import Any

from starlette.testclient import TestClient

from tests.support.world import World

#: Texts that would become elements or code if a page did not escape them.
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "$<b>$"]


class Browser:
    """Somebody's browser, signed in by a link."""

    def __init__(self, world: World, login: str) -> None:
        self.client: TestClient = world.browser()
        signed_in = self.client.post(f"/sign-in/{world.link(login)}")
        assert signed_in.status_code == 303, signed_in.text

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', self.client.get("/").text)
        assert found is not None
        return found[1]

    def call(self, method: str, path: str, form: dict[str, str] | None = None) -> Any:
        if method == "GET":
            return self.client.get(path)
        return self.client.post(path, data={"csrf": self.csrf(), **(form or {})})
