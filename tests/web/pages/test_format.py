"""Markdown of students on pages: rendered at a cost that grows with the text and is bounded."""

from __future__ import annotations

import time

import pytest

from grader.web.pages.format import to_html

DIGEST = "sha256:" + "a" * 64


def measure(text: str) -> float:
    times = []
    for _ in range(5):
        began = time.thread_time()
        to_html(text)
        times.append(time.thread_time() - began)
    return min(times)


@pytest.mark.parametrize("mark", ["[", "a\n\n", "- a\n", "_a", "$a", "**a", "\\$", "> "])
def test_a_text_of_nothing_but_markup_costs_no_more_when_it_is_longer(mark: str) -> None:
    few, many = mark * (900 // len(mark)), mark * (40_000 // len(mark))

    # To look at each character takes its time, too.
    assert measure(many) < 4 * (measure(few) + measure("a" * len(many)))


def test_a_text_of_nothing_but_markup_is_shown_as_it_was_written() -> None:
    text = "[<b>" * 5_000

    assert to_html(text) == f'<pre tabindex="0">{"[&lt;b&gt;" * 5_000}</pre>'


def test_a_long_text_with_formulas_is_still_rendered() -> None:
    paragraph = "The weight $\\alpha_i$ is **large**, so `k_a` wins by $e^{10}$.\n\n"

    assert to_html(paragraph * 250).count("<strong>") == 250


def test_the_link_to_an_attached_file_is_only_its_name() -> None:
    assert to_html(f"See [a b.pdf]({DIGEST}).") == "<p>See a b.pdf (attached).</p>\n"
