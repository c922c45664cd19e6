"""A real Chromium on the real service, for tests that see pages as people do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    sync_playwright,
)

from grader.store.database import open_database
from tests.support.databases import fresh_url
from tests.support.server import serve
from tests.support.world import EXPLORATION, SINGLE_HEAD, World, make_service

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = 1440, 320


@dataclass
class Site:
    """The service with its address, and a browser to look at it."""

    world: World
    address: str
    browser: Browser

    @contextmanager
    def visit(
        self,
        login: str | None = None,
        *,
        theme: Literal["light", "dark"] = "light",
        width: int = WIDE,
        scripts: bool = True,
        forgiven: str = "nothing",
    ) -> Iterator[Page]:
        """A new and empty window of somebody signed in, in which nothing may go wrong unseen.

        What the browser says that holds `forgiven` is meant to be said.
        """
        context: BrowserContext = self.browser.new_context(
            base_url=self.address,
            color_scheme=theme,
            viewport={"width": width, "height": 900},
            java_script_enabled=scripts,
        )
        context.set_default_timeout(15_000)
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))

        def listen(said: ConsoleMessage) -> None:
            if said.type in ("error", "warning") and forgiven not in said.text:
                complaints.append(said.text)

        page.on("console", listen)
        if login is not None:
            # Without a page, which would have to be drawn for each test.
            answer = context.request.post(f"/sign-in/{self.world.link(login)}", max_redirects=0)
            assert answer.status == 303, answer.text()
        yield page
        context.close()
        assert complaints == []

    def sign_in(self, page: Page, login: str) -> None:
        """Follow a link to sign in, as people do, which leads to the first page."""
        page.goto(f"/sign-in/{self.world.link(login)}")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")


# Not for the whole session: while Playwright is there, no other test could run a loop of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine, and tools/programs.sh could not get one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(browser: Browser) -> Iterator[Site]:
    published = {"one": (EXPLORATION, SINGLE_HEAD), "two": ()}
    with (
        tempfile.TemporaryDirectory() as folder,
        fresh_url("sqlite", Path(folder)) as url,
        make_service(open_database(url), published=published) as world,
        serve(world.client.app) as port,  # type: ignore[arg-type]  # it is a FastAPI
    ):
        yield Site(world, f"http://127.0.0.1:{port}", browser)
