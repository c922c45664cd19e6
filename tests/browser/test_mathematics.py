"""Mathematics is typeset, and cannot cover the page or hold up the browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Site

SHOWN = """tex => {
  const each = document.body.appendChild(document.createElement("span"));
  each.className = "math";
  each.textContent = tex;
  setMath(document.body);
  return {
    height: Math.max(...[...each.querySelectorAll("*")].map(one => one.offsetHeight || 0)),
    links: each.querySelectorAll("a").length,
    set: each.querySelectorAll(".katex").length,
  };
}"""


def show(page: Page, tex: str) -> dict[str, int]:
    """How a formula is shown on a page."""
    page.goto("/")
    shown: dict[str, int] = page.evaluate(SHOWN, tex)
    return shown


@pytest.mark.parametrize(
    "tex", [r"\rule{1em}{99999em}", r"\raisebox{99999em}{x}", r"x\\[99999em] y"]
)
def test_a_formula_cannot_cover_the_page(site: Site, tex: str) -> None:
    with site.visit("ada") as page:
        # Twenty times the size of a letter and the letters themselves.
        assert show(page, tex)["height"] < 1000


def test_a_formula_with_macros_without_end_is_shown_as_written(site: Site) -> None:
    with site.visit("ada") as page:
        assert show(page, r"\def\a{xx}" + r"\a" * 600)["set"] == 0


def test_a_formula_holds_no_link(site: Site) -> None:
    with site.visit("ada") as page:
        assert show(page, r"\href{javascript:alert(1)}{x}")["links"] == 0
