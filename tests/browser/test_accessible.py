"""axe finds nothing on any page, in both themes and at two widths; nothing is wider than it."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe

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
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site: Site, theme: Literal["light", "dark"], width: int) -> None:
    made = site.world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": f"{site.world.number()} k_a", "explanation": "So."}
    )
    found = []
    for login in (None, "ada", "irene"):
        with site.visit(login, theme=theme, width=width, forgiven="404") as page:
            for path, who in LOOKED_AT:
                if who != login:
                    continue
                page.goto(path.format(attempt=made["id"]))
                for each in Axe().run(page).response["violations"]:
                    places = [node["html"][:120] for node in each["nodes"][:3]]
                    found.append(f"{path}: {each['id']}: {places}")
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    found.append(f"{path}: {wide} pixels wide")
    assert not found, "\n".join(found)
