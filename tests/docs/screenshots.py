"""Take the pictures of the main pages that the documentation shows, from a demo of its own.

::

    make screenshots

It serves the demo on a database that is thrown away, and looks at it with Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.docs.service_pages import COMPLETE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 860

COURSE = "/courses/demo"
EXPLORATION = f"{COURSE}/assignments/attention-exploration"
TRANSFORMERS = f"{COURSE}/assignments/self-attention-and-transformers"


def _nothing(page: Page) -> None:
    """The page as it is."""


def _answer_wrongly(page: Page) -> None:
    page.get_by_label("q", exact=True).fill("mu_a + mu_b")
    page.get_by_role("button", name="Submit").click()
    page.locator("#result-title").wait_for()
    page.locator("#result-title").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#result-title').scrollIntoView({behavior: 'instant'})")


def _write(page: Page) -> None:
    page.get_by_label("q", exact=True).fill("40 (mu_a + mu_b)")
    page.get_by_label("explanation").fill(
        "Every other key is orthogonal to $q$, so that its score stays near zero:\n"
        "$q^\\top \\mu_a = q^\\top \\mu_b = 40$."
    )
    page.locator("#read-explanation .katex").first.wait_for()


def _start_review(page: Page) -> None:
    page.goto(f"{EXPLORATION}/review/3b")
    page.locator("form").first.wait_for()


def _check_integrity(page: Page) -> None:
    page.get_by_role("button", name=re.compile("check|start", re.I)).first.click()
    for _ in range(60):
        page.wait_for_timeout(1000)
        page.goto(f"{TRANSFORMERS}/integrity")
        if not page.locator("progress").count():
            return


@dataclass(frozen=True)
class Shot:
    """One picture: whose page it is, and what is done there first."""

    name: str
    login: str
    path: str
    prepare: Callable[[Page], None] = _nothing
    theme: str = "light"


SHOTS = (
    Shot("my-work", "ada", "/"),
    Shot("question", "ada", f"{EXPLORATION}/questions/3c-i", _write),
    Shot("result", "ada", f"{EXPLORATION}/questions/3c-i", _answer_wrongly),
    Shot("today", "grace", COURSE),
    Shot("grades", "grace", f"{EXPLORATION}/grades"),
    Shot("analytics", "grace", f"{EXPLORATION}/analytics/3b"),
    Shot("integrity", "grace", f"{TRANSFORMERS}/integrity", _check_integrity),
    Shot("review", "grace", f"{EXPLORATION}/review", _start_review),
    Shot("rubric", "grace", f"{EXPLORATION}/rubrics/3b", theme="dark"),
    Shot("roster", "grace", f"{COURSE}/roster"),
)


@contextmanager
def served_demo() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a fresh demo, and a way in for each of its people."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "GRADER_DATABASE_URL": f"sqlite:///{folder}/demo.sqlite",
            "XDG_DATA_HOME": folder,
        }
        with subprocess.Popen(
            [sys.executable, "-m", "grader", "serve", "--demo", "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield _read_ways_in(process)
            finally:
                process.terminate()


def _read_ways_in(process: subprocess.Popen[str]) -> tuple[str, dict[str, str]]:
    links = {}
    address = ""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"^\s+(\w+)\s+(?:instructor|assistant|student)\s+(http\S+)", line):
            links[found[1]] = found[2]
        if found := re.search(r"Listening on (http://\S+)", line):
            address = found[1]
        if COMPLETE in line:
            return address, links
    raise SystemExit("the demo did not start")


def take(browser: Browser, links: dict[str, str], address: str) -> None:
    """Take all pictures, each person in a window of their own."""
    for login in dict.fromkeys(shot.login for shot in SHOTS):
        context = browser.new_context(
            base_url=address, viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto(links[login])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        for shot in SHOTS:
            if shot.login == login:
                page.emulate_media(color_scheme="dark" if shot.theme == "dark" else "light")
                page.goto(shot.path)
                shot.prepare(page)
                page.wait_for_timeout(800)
                page.screenshot(path=FOLDER / f"{shot.name}.png")
                print(f"docs/pictures/{shot.name}.png")
        context.close()


def main() -> None:
    """Serve, look, keep."""
    FOLDER.mkdir(exist_ok=True)
    with served_demo() as (address, links), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
        )
        take(browser, links, address)
        browser.close()


if __name__ == "__main__":
    main()
