"""An instructor's journey in a real browser: from the grades to an override to its notice."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Site
from tests.support.world import EXPLORATION

QUESTION = f"/courses/one/assignments/{EXPLORATION}/questions/3b"


def test_from_the_grades_to_an_attempt_to_an_override_to_the_students_notice(site: Site) -> None:
    site.world.submit("bob", f"{EXPLORATION}/3b", {"q": "k_a"})
    with site.visit() as page:
        site.sign_in(page, "irene")
        page.get_by_role("link", name="Attention exploration").click()
        page.get_by_role("link", name="Grades", exact=True).click()
        row = page.get_by_role("row", name="Bob")
        row.get_by_role("link", name="0", exact=True).click()
        page.get_by_role("link", name="1", exact=True).click()
        expect(page.get_by_role("heading", name="Submitted answer")).to_be_visible()
        expect(page.locator("#result-title")).to_have_text("Attempt 1: 0 of 8 points")
        page.go_back()

        page.get_by_label("Points").fill("4")
        page.get_by_label("Reason").fill("The idea is right, only too short.")
        page.get_by_role("button", name="Override").click()

        expect(page.get_by_text("set by staff")).to_be_visible()
        expect(page.get_by_role("main").get_by_role("listitem").first).to_contain_text(
            "only too short"
        )

    with site.visit("bob") as page:
        page.goto(QUESTION)
        notice = page.get_by_role("status", name="Your score was changed")
        expect(notice).to_contain_text("changed your score from 0 to 4 points")
        expect(notice).to_contain_text("only too short")
