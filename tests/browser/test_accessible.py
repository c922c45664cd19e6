"""axe finds nothing on any page, in both themes and at two widths; nothing is wider than it."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from grader.domain.roles import Role
from tests.browser.conftest import NARROW, WIDE, Site
from tests.support import regrades
from tests.support.page_matrix import FILES, OPEN, PAGES
from tests.support.world import EXPLORATION

QUESTIONS = f"/courses/one/assignments/{EXPLORATION}/questions"
#: Addresses that are looked at besides the pages' own table; None means nobody is signed in.
MORE: list[tuple[str, str | None]] = [
    ("/sign-in", None),
    ("/sign-in/some-code", None),
    ("/docs", None),
    ("/docs/errors", None),
    ("/courses/nowhere/assignments/nothing", "ada"),
    (f"{QUESTIONS}/3e-i", "ada"),
    (f"{QUESTIONS}/3e-ii", "ada"),
    ("/courses/one/assignments/single-head-attention/questions/2a", "ada"),
]
#: What the API's page has of each chapter after its first call; all are written alike.
ALIKE = "article.call ~ article.call"
#: Lets axe parse each colour once instead of for every text, a third of its time on long pages.
PARSE_COLOURS_ONCE = """
() => {
    const {Color} = axe.commons.color, parse = Color.prototype.parseString, known = new Map();
    Color.prototype.parseString = function (text) {
        if (!known.has(text)) known.set(text, new Color(parse.call(this, text)));
        const {r, g, b, alpha} = known.get(text);
        return Object.assign(this, {r, g, b, alpha});
    };
}
"""
LOOKED_AT = [
    (path, login)
    for method, path, may in PAGES
    for login in ("ada", "irene")
    if method == "GET" and path not in FILES and login in may
] + MORE


def test_every_page_is_looked_at() -> None:
    looked_at = {path for path, _ in LOOKED_AT}
    assert {path for method, path, _ in PAGES if method == "GET"} <= looked_at | FILES.keys()
    assert {path for method, path in OPEN if method == "GET"} == {"/sign-in", "/sign-in/{code}"}


@pytest.mark.parametrize("login", [None, "ada", "irene"])
def test_axe_finds_nothing(site: Site, login: str | None) -> None:
    made = site.world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": f"{site.world.number()} k_a", "explanation": "So."}
    )
    regrade = regrades.find_waiting(site.world, EXPLORATION)
    found = []
    with site.visit(login, forgiven="404") as page:
        for path, who in LOOKED_AT:
            if who == login:
                page.goto(path.format(attempt=made["id"], regrade=regrade))
                found += [f"{path}: {each}" for each in look(page)]
    assert not found, "\n".join(found)


def test_axe_finds_nothing_in_what_comes_without_a_page_load(site: Site) -> None:
    found = []
    with site.visit("bob") as page:
        page.goto(f"{QUESTIONS}/3c-i")
        box, reading = page.get_by_label("q", exact=True), page.locator("#read-q")
        box.fill(r"C (\mu_a + \mu_b) where C = 40")
        expect(reading.locator(".katex").first).to_be_visible()
        found += look(page)
        box.fill("[1, 2, nan]")
        expect(reading.locator("td.bad")).to_have_text("nan")
        page.get_by_label(re.compile("explanation")).fill("So $x^2$, **because**:\n\n- one")
        expect(page.locator("#read-explanation strong")).to_be_visible()
        found += look(page)
        box.fill("7 mu_a")
        page.get_by_role("button", name="Submit").click()
        expect(page.locator("#result-title")).to_be_visible()
        found += look(page)
        page.goto(f"{QUESTIONS}/3b")
        page.get_by_role("button", name="Type into a grid").click()
        expect(page.get_by_label("q, entry 1")).to_be_focused()
        found += look(page)
    assert not found, "\n".join(found)


def test_a_long_name_without_a_space_widens_nothing(site: Site) -> None:
    login = "a-login-that-is-far-too-long-for-any-column"
    name = "Wolfeschlegelsteinhausenbergerdorffwelchevoralternwaren"
    site.world.add_member(login, Role.STUDENT, name=name, section=name)
    site.world.submit(login, f"{EXPLORATION}/3b", {"q": "k_a", "explanation": name * 3})
    here = f"/courses/one/assignments/{EXPLORATION}"
    pages = {
        login: ["/", f"{QUESTIONS}/3b"],
        "irene": [
            "/courses/one/roster",
            f"/courses/one/people/{login}",
            f"{here}/grades",
            f"{here}/students/{login}",
            f"{QUESTIONS}/3b/students/{login}",
            f"{here}/review/3b",
            f"{here}/extensions",
        ],
    }
    wide = {}
    for who, paths in pages.items():
        with site.visit(who, width=NARROW) as page:
            for path in paths:
                page.goto(path)
                wide[path] = page.evaluate("document.documentElement.scrollWidth")
    assert set(wide.values()) == {NARROW}, wide


def look(page: Page) -> list[str]:
    """What is wrong with a page at both widths and in both themes.

    Themes differ in nothing but colours. The script stays in the page, because it is slow only
    when it comes.
    """
    page.evaluate(f"document.querySelectorAll('{ALIKE}').forEach(each => each.remove())")
    page.evaluate(AXE_SCRIPT)
    page.evaluate(PARSE_COLOURS_ONCE)
    found = []
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="light")
        found += [f"{width}: {each}" for each in violations(page, {})]
        page.emulate_media(color_scheme="dark")
        dark = violations(page, {"runOnly": ["color-contrast"]})
        found += [f"{width}, dark: {each}" for each in dark]
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{width}: it is {wide} pixels wide"] if wide > width else []
    return found


def violations(page: Page, options: dict[str, list[str]]) -> list[str]:
    """What axe finds; the rest, which is far longer, stays in the browser."""
    run = "options => axe.run(options).then(results => results.violations)"
    return [
        f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in page.evaluate(run, {"resultTypes": ["violations"], **options})
    ]
