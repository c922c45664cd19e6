"""A student's whole journey in a real browser."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.support.world import EXPLORATION, question_path

QUESTIONS = f"/courses/one/assignments/{EXPLORATION}/questions"


def answer(page: Page, field: str, text: str) -> None:
    page.get_by_label(field, exact=True).fill(text)
    page.get_by_role("button", name="Submit").click()


def test_from_the_link_to_full_marks_by_numbers_and_by_formula(site: Site) -> None:
    with site.visit() as page:
        site.sign_in(page, "ada")
        expect(page.get_by_role("heading", name="My work")).to_be_visible()
        page.get_by_role("link", name="Attention exploration").click()
        page.get_by_role("link", name="3b", exact=True).click()
        given = site.world.read(question_path(f"{EXPLORATION}/3b"), "ada")["given"]
        k = np.array(given["k"])

        answer(page, "q", repr(40 * (k[given["a"]] + k[given["b"]])))

        expect(page.locator("#result-title")).to_have_text("Attempt 1: 8 of 8 points")
        expect(page.locator("#budget")).to_have_text("9 of 10 attempts left")

        page.goto(f"{QUESTIONS}/3c-i")
        answer(page, "q", "mu_a + mu_b")
        expect(page.locator("#result-title")).to_have_text("Attempt 1: 0 of 8 points")
        expect(page.locator(".insight")).to_contain_text("times this length would do")
        expect(page.locator("svg.picture")).to_have_count(2)
        answer(page, "q", "40 (mu_a + mu_b)")
        expect(page.locator("#result-title")).to_have_text("Attempt 2: 8 of 8 points")
        expect(page.locator("#timeline tbody tr")).to_have_count(2)


def test_what_is_written_is_read_at_once(site: Site) -> None:
    with site.visit("bob") as page:
        page.goto(f"{QUESTIONS}/3c-i")
        box, reading = page.get_by_label("q", exact=True), page.locator("#read-q")

        box.fill(r"C (\mu_a + \mu_b) where C = 40")
        expect(reading.locator(".katex").first).to_be_visible()
        box.fill("[1, 2, 3]")
        expect(reading).to_contain_text(re.compile("3 numbers; 16 are needed"))
        box.fill("array([1., 2., ..., 3.])")
        expect(reading).to_contain_text("...")


def test_what_was_written_survives_a_closed_window(site: Site) -> None:
    with site.visit("bob") as page:
        page.goto(f"{QUESTIONS}/3b")
        page.get_by_label(re.compile("explanation")).fill("A long thought.")
        page.goto("/")

        page.goto(f"{QUESTIONS}/3b")

        expect(page.get_by_label(re.compile("explanation"))).to_have_value("A long thought.")


def test_a_draft_waits_in_another_browser_too(site: Site) -> None:
    with site.visit("ada") as page:
        page.goto(f"{QUESTIONS}/3e-i")
        page.get_by_label(re.compile("explanation")).fill("Half of a thought.")
        page.get_by_label("yes").check()
        expect(page.locator("#draft")).to_contain_text("draft saved")

    with site.visit("ada") as page:
        page.goto(f"{QUESTIONS}/3e-i")
        expect(page.get_by_label(re.compile("explanation"))).to_have_value("Half of a thought.")
        expect(page.get_by_label("yes")).to_be_checked()
        expect(page.locator("#read-explanation")).to_contain_text("Half of a thought.")


def test_numbers_can_be_typed_into_a_grid(site: Site) -> None:
    with site.visit("bob") as page:
        page.goto(f"{QUESTIONS}/3b")
        page.get_by_role("button", name="Type into a grid").click()
        expect(page.get_by_label("q, entry 1")).to_be_focused()

        for number in range(7):
            page.keyboard.type(f"{number}.5")
            page.keyboard.press("ArrowRight")

        expect(page.get_by_label("q", exact=True)).to_have_value(
            "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]"
        )
        expect(page.locator("#read-q td")).to_have_count(7)


def test_a_pdf_is_attached_when_it_is_chosen(site: Site) -> None:
    with site.visit("bob") as page:
        page.goto(f"{QUESTIONS}/3c-i")
        page.get_by_label("Attach a PDF").set_input_files(
            {"name": "my notes.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 notes"}
        )
        expect(page.locator("#file-explanation")).to_contain_text("my-notes.pdf")
        answer(page, "q", "7 mu_a")
        expect(page.locator("#result-title")).to_have_text("Attempt 1: 0 of 8 points")

        page.get_by_role("link", name="1", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("link", name="my-notes.pdf").click()
        assert download.value.suggested_filename == "my-notes.pdf"


def test_it_works_without_scripts(site: Site) -> None:
    with site.visit(scripts=False) as page:
        site.sign_in(page, "irene")
        page.goto(f"{QUESTIONS}/3b")

        answer(page, "q", "40 (k_a + k_b)")

        expect(page.locator("#result-title")).to_have_text("Attempt 1: 8 of 8 points")


def test_by_keyboard_alone(site: Site) -> None:
    with site.visit("arthur") as page:
        page.goto(f"{QUESTIONS}/3b")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.get_by_label("q", exact=True).focus()
        page.keyboard.type("40 (k_a + k_b)")
        submit = page.get_by_role("button", name="Submit")
        for _ in range(12):
            page.keyboard.press("Tab")
            if submit.evaluate("button => button === document.activeElement"):
                break
        expect(submit).to_be_focused()
        page.keyboard.press("Enter")

        expect(page.locator("#result-title")).to_have_text("Attempt 1: 8 of 8 points")
