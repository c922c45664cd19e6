"""Copy buttons: there only with scripts, and they say politely that something was copied."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site


def make_token(page: Page) -> str:
    page.goto("/tokens")
    page.get_by_label("Label").fill("notebook")
    page.get_by_role("button", name="Make the token").click()
    return page.locator("#secret").inner_text()


def test_a_token_is_copied_and_that_is_said(site: Site) -> None:
    with site.visit("ada") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        secret = make_token(page)

        page.get_by_role("button", name="Copy the token").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        expect(page.locator("#copied")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == secret
        # The button takes its name back after a while.
        expect(page.get_by_role("button", name="Copy the token")).to_be_visible()


def test_without_scripts_there_is_no_button_and_all_else_works(site: Site) -> None:
    with site.visit("ada", scripts=False) as page:
        secret = make_token(page)

        assert secret.startswith("keyset_")
        assert page.get_by_role("button", name="Copy the token").count() == 0


def test_examples_are_tried_while_the_rubric_is_read(site: Site) -> None:
    path = "/courses/one/assignments/attention-exploration/rubrics/3a"
    with site.visit("irene") as page:
        page.goto(path)

        expect(page.get_by_text("16 of 16 as stated")).to_be_visible()
        page.get_by_role("link", name="line 8").first.click()
        assert "#L8" in page.url
