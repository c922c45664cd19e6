from __future__ import annotations

import pytest

from grader.domain.placeholders import fill_placeholders, list_placeholders


def test_placeholders_are_listed_in_their_order_and_tex_has_none() -> None:
    text = r"About {t} times $\frac{1}{t}$ of {whose} {t}."

    assert list_placeholders(text) == ["t", "whose", "t"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("About {t} times.", "About 5 times."),
        (r"{t} times $x^{t}$", "5 times $x^{t}$"),
        ("{whose} query is short.", "Your query is short."),
        ("It is short. {whose} query, that is.", "It is short. Your query, that is."),
        ("With {whose} query", "With your query"),
        ("{unknown} {} {t", "{unknown} {} {t"),
    ],
)
def test_placeholders_are_filled(text: str, filled: str) -> None:
    assert fill_placeholders(text, {"t": "5", "whose": "your"}) == filled
