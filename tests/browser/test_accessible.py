"""axe finds nothing on any page, in both themes and at two widths; nothing is wider than it."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import NARROW, WIDE, Site
from tests.service import EXPLORATION
from tests.web.page_matrix import FILES, OPEN, PAGES

#: Addresses that are looked at besides the pages' own table; None means nobody is signed in.
MORE: list[tuple[str, str | None]] = [
    ("/sign-in", None),
    ("/sign-in/some-code", None),
    ("/docs", None),
    ("/docs/errors", None),
    ("/courses/nowhere/assignments/nothing", "ada"),
    ("/courses/one", "irene"),
    (f"/courses/one/assignments/{EXPLORATION}/questions/3e-i", "ada"),
    (f"/courses/one/assignments/{EXPLORATION}/questions/3e-ii", "ada"),
    ("/courses/one/assignments/single-head-attention/questions/2a", "ada"),
]
LOOKED_AT = [
    (path, "ada" if "ada" in may else "irene")
    for method, path, may in PAGES
    if method == "GET" and path not in FILES
] + MORE


def test_every_page_is_looked_at() -> None:
    looked_at = {path for path, _ in LOOKED_AT}
    assert {path for method, path, _ in PAGES if method == "GET"} <= looked_at | FILES.keys()
    assert {path for method, path in OPEN if method == "GET"} == {"/sign-in", "/sign-in/{code}"}


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_axe_finds_nothing(site: Site, width: int) -> None:
    made = site.world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": f"{site.world.number()} k_a", "explanation": "So."}
    )
    found = []
    for login in (None, "ada", "irene"):
        with site.visit(login, width=width, forgiven="404") as page:
            for path, who in LOOKED_AT:
                if who == login:
                    page.goto(path.format(attempt=made["id"]))
                    found += [f"{path}: {each}" for each in look(page, width)]
    assert not found, "\n".join(found)


def look(page: Page, width: int) -> list[str]:
    """What is wrong with a page in both themes, which differ in nothing but colours."""
    page.emulate_media(color_scheme="light")
    found = violations(page, None)
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {each}" for each in violations(page, {"runOnly": ["color-contrast"]})]
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*found, f"{wide} pixels wide"] if wide > width else found


def violations(page: Page, options: dict[str, list[str]] | None) -> list[str]:
    return [
        f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in Axe().run(page, options=options).response["violations"]
    ]
