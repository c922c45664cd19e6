"""Reviewing in a real browser: by the keyboard alone, and without losing a word."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from grader.store.queries.decisions import find_claim
from tests.browser.conftest import Site
from tests.support.world import EXPLORATION

REVIEW = f"/courses/one/assignments/{EXPLORATION}/review"


def write(site: Site, who: str, question: str, text: str) -> str:
    """Send a written answer, and return the attempt's id."""
    q = {"3a": "k_j", "3b": "k_a", "3c-i": "mu_a"}[question]
    answer = {"q": f"{site.world.number()} {q}", "explanation": text}
    return str(site.world.submit(who, f"{EXPLORATION}/{question}", answer)["id"])


def tab_to(page: Page, name: str) -> None:
    """Press Tab until a link or button of this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.textContent.trim()")
        if re.fullmatch(name, focused):
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


def go_by_key(page: Page, key: str) -> None:
    """Press a key that leads to another page, and wait until that one takes keys, too."""
    before = page.url
    page.keyboard.press(key)
    expect(page).not_to_have_url(before)
    page.wait_for_load_state()


@pytest.fixture
def arthur(site: Site) -> Iterator[Page]:
    with site.visit("arthur") as page:
        yield page


def test_by_the_keyboard_alone_two_answers_are_reviewed_and_the_students_read_it(
    site: Site, arthur: Page
) -> None:
    page = arthur
    attempts = {who: write(site, who, "3b", f"Because, says {who[0]}.") for who in ("ada", "bob")}
    page.goto(REVIEW)
    tab_to(page, "Start with 3b")
    page.keyboard.press("Enter")
    page.wait_for_url("**/review/3b/att_*")
    first = page.locator("h1").inner_text()
    expect(page.get_by_text("0 of 2 done")).to_be_visible()

    # The first: an item by its key, a comment, save.
    page.keyboard.press("1")
    expect(page.locator('[data-key="1"]')).to_be_checked()
    worth = page.locator(".part output b")
    expect(worth).not_to_have_text("–")
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Comment")).to_be_focused()
    page.keyboard.type("Well said, 1 of 1.")
    expect(page.locator('[data-key="1"]')).to_be_checked()
    page.keyboard.press("Control+Enter")

    # The second comes after the first was confirmed.
    saved = page.get_by_role("status").filter(has_text="Saved:")
    expect(saved).to_contain_text("(version r1)")
    assert saved.inner_text().startswith(f"Saved: {first.removeprefix('3b ')}")
    expect(page.locator("h1")).not_to_have_text(first)
    expect(page.get_by_text("1 of 2 done")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Comment")).to_have_value("Well said, 1 of 1.")
    expect(page.get_by_role("textbox", name="Comment")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("0")
    expect(page.locator('[data-key="1"]')).not_to_be_checked()
    expect(worth).to_have_text("0")
    page.keyboard.press("Control+Enter")

    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("0 of")
    points = []
    for who, attempt_id in attempts.items():
        with site.visit(who) as own:
            own.goto(f"/attempts/{attempt_id}")
            expect(own.get_by_text("Well said, 1 of 1.")).to_be_visible()
            heading = own.get_by_role("heading", name="Reviewed: explanation").inner_text()
            points.append(heading.partition(", ")[2])
    assert sorted(points) == ["0 of 2", "2 of 2"]


def test_when_saving_fails_the_page_stays_with_all_that_was_typed(site: Site) -> None:
    attempt_id = write(site, "ada", "3c-i", "So.")
    is_broken = False

    def pass_on(route: Route) -> None:
        if is_broken:
            route.fulfill(status=500, content_type="text/html", body="<p>broken</p>")
        else:
            route.continue_()

    with site.visit("arthur", forgiven="") as page:
        # From the beginning, because a request that is sent at the same moment may slip through.
        page.route(f"**{REVIEW}/3c-i/{attempt_id}", pass_on)
        page.goto(f"{REVIEW}/3c-i/{attempt_id}")
        address = page.url
        page.keyboard.press("1")
        page.keyboard.press("c")
        page.keyboard.type("A long thought.")
        comment, status = page.get_by_role("textbox", name="Comment"), page.locator("#status")

        def stays(words: str) -> None:
            expect(status).to_contain_text(words)
            assert page.url == address
            expect(comment).to_have_value("A long thought.")
            expect(page.locator('[data-key="1"]')).to_be_checked()

        page.context.set_offline(True)
        page.keyboard.press("Control+Enter")
        stays("cannot be reached")
        page.context.set_offline(False)

        is_broken = True
        page.keyboard.press("Control+Enter")
        stays("the service answered 500")
        is_broken = False

        # Somebody else is faster: both are shown, and nothing typed is lost.
        done = site.world.post(
            f"/api/v1/courses/one/attempts/{attempt_id}/reviews", "irene",
            {"criterion": "explanation", "points": 1, "comment": "Hers."},
        )  # fmt: skip
        assert done.status_code == 201
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("alert")).to_contain_text("Not saved.")
        expect(page.locator(".other")).to_contain_text("gave 1 of 2 points")
        expect(page.locator(".other")).to_contain_text("Hers.")
        stays("")

        # Whoever saves once more has decided.
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").filter(has_text="Saved:")).to_contain_text("version r2")


def test_whoever_was_signed_out_keeps_the_input_and_saves_after_signing_in(site: Site) -> None:
    attempt_id = write(site, "bob", "3c-i", "So.")
    with site.visit("arthur", forgiven="") as page:
        page.goto(f"{REVIEW}/3c-i/{attempt_id}")
        page.keyboard.press("1")
        page.context.clear_cookies()
        page.keyboard.press("Control+Enter")
        expect(page.locator("#status")).to_contain_text("you are signed out")
        expect(page.locator('[data-key="1"]')).to_be_checked()

        other = page.context.new_page()
        site.sign_in(other, "arthur")
        other.close()
        page.keyboard.press("Control+Enter")

        expect(page.get_by_role("status").filter(has_text="Saved:")).to_contain_text("2 of 2")


def test_unsaved_work_is_not_left_by_a_single_key(site: Site, arthur: Page) -> None:
    for who in ("ada", "bob"):
        write(site, who, "3a", "So.")
    arthur.goto(f"{REVIEW}/3a")
    if arthur.locator("[rel=next]").count() == 0:
        go_by_key(arthur, "p")
    address = arthur.url
    arthur.keyboard.press("1")
    arthur.keyboard.press("n")
    expect(arthur.locator("#status")).to_contain_text("not saved yet")
    assert arthur.url == address

    go_by_key(arthur, "n")
    go_by_key(arthur, "p")
    assert arthur.url == address


def test_keys_can_be_looked_up_and_switched_off(site: Site, arthur: Page) -> None:
    attempt_id = write(site, "ada", "3a", "So, so.")
    arthur.goto(f"{REVIEW}/3a/{attempt_id}")
    arthur.keyboard.press("?")
    expect(arthur.get_by_role("dialog")).to_be_visible()
    arthur.get_by_label("Use keys without Ctrl").uncheck()
    arthur.keyboard.press("Escape")
    expect(arthur.get_by_role("dialog")).to_be_hidden()
    arthur.reload()

    arthur.keyboard.press("1")

    expect(arthur.locator('[data-key="1"]')).not_to_be_checked()


def holder(site: Site, attempt_id: str) -> str | None:
    with site.world.database.read() as session:
        held = find_claim(session, attempt_id=attempt_id, at=site.world.clock())
    return held.by if held else None


def test_leaving_lets_go_of_the_answer(site: Site) -> None:
    attempt_id = write(site, "ada", "3c-i", "Once more.")
    with site.visit("irene") as page:
        page.goto(f"{REVIEW}/3c-i/{attempt_id}")
        assert holder(site, attempt_id) == site.world.people["irene"].id
        page.goto("/")
        deadline = time.monotonic() + 10
        while holder(site, attempt_id) and time.monotonic() < deadline:
            page.wait_for_timeout(50)
        assert holder(site, attempt_id) is None
    with site.visit("arthur") as page:
        page.goto(f"{REVIEW}/3c-i/{attempt_id}")
        expect(page.locator("#claim")).to_contain_text("Reserved for you")


def test_it_works_without_scripts(site: Site) -> None:
    attempt_id = write(site, "bob", "3b", "Again, without scripts.")
    with site.visit("irene", scripts=False) as page:
        page.goto(f"{REVIEW}/3b/{attempt_id}")
        page.get_by_role("checkbox").first.check()
        page.get_by_role("textbox", name="Comment").fill("Seen.")
        page.get_by_role("button", name="Save and go on").click()

        expect(page.get_by_role("status")).to_contain_text("Saved:")
