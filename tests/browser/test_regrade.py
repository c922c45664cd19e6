"""From a wrong key to its regrade and back, as an instructor and a student see it in a browser."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Site
from tests.support import regrades
from tests.support.histories import LONG, QUESTION, long_assignment

COURSE = "/courses/one"
ASSIGNMENT = f"{COURSE}/assignments/{LONG}"


def test_a_wrong_key_is_mended_regraded_and_undone(site: Site) -> None:
    world = site.world
    world.publish(long_assignment(within=0.2))
    world.submit("ada", QUESTION, {"q": "3 k_a"})
    world.submit("bob", QUESTION, {"q": "8 k_a"})
    world.publish(long_assignment(within=0.02))

    # The form is refused once, without a reason.
    with site.visit("irene", forgiven="422") as page:
        page.goto(COURSE)
        page.get_by_role("link", name="2 attempts were judged by an earlier version").click()
        expect(page.get_by_role("checkbox", name="one One key")).to_be_checked()
        page.get_by_role("button", name="Show what would change").click()
        # A worker does it, in a process of its own, while the page waits.
        expect(page.get_by_text("Waiting for a worker to begin")).to_be_visible()
        regrades.make_worker(world).work_off()
        row = page.get_by_role("row", name="Ada")
        expect(row).to_contain_text("4 of 6")
        expect(row).to_contain_text("1.6 of 6")
        expect(row).to_contain_text("-2.4")
        expect(page.get_by_role("row", name="Bob")).to_have_count(0)

        page.get_by_role("button", name="Apply to all").click()
        expect(page.get_by_role("alert")).to_contain_text("reason")
        page.get_by_label("Reason").fill("The tolerance was ten times too wide.")
        page.get_by_role("button", name="Apply to all").click()
        expect(page.get_by_text("Applied by")).to_contain_text("ten times too wide")

    with site.visit("ada") as page:
        page.goto(f"{ASSIGNMENT}/questions/one")
        notice = page.get_by_role("status", name="Your answers were judged again")
        expect(notice).to_contain_text("from 4 of 6 to 1.6 of 6 points")
        expect(notice).to_contain_text("ten times too wide")

    with site.visit("irene") as page:
        page.goto(f"{ASSIGNMENT}/regrades")
        page.get_by_role("link", name="1", exact=True).click()
        page.get_by_label("Reason").fill("Students were told of the old one.")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone by")).to_contain_text("told of the old one")

    with site.visit("ada") as page:
        page.goto(f"{ASSIGNMENT}/questions/one")
        notice = page.get_by_role("status", name="Your answers were judged again")
        expect(notice).to_contain_text("taken back")
        expect(notice).to_contain_text("4 of 6 points")
        assert regrades.grade_of(world, "ada").points == 4
