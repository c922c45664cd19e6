"""Points as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from grader.domain.points import has_whole_cents, read_points

WRITTEN = {"7.5": "7.5", "0": "0", ".25": "0.25", "7.500": "7.5", "-1": "-1"}
UNREADABLE = [
    *("", ".", "7,5", "7.555", "1e2", "1_0", "٣", "²", "0x1", "--1", "1 2", "9" * 5000),
    *("NaN", "-NaN", "sNaN", "NaN123", "Infinity", "-inf", "1e999999999"),
]


@pytest.mark.parametrize("text", WRITTEN)
def test_points_are_read_as_they_are_written(text: str) -> None:
    assert read_points(text) == Decimal(WRITTEN[text])


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_no_plain_number_is_not_read(text: str) -> None:
    assert read_points(text) is None


@pytest.mark.parametrize("text", ["NaN", "sNaN", "-NaN", "Infinity", "-Infinity", "1e9999"])
def test_a_number_that_cannot_be_compared_has_no_cents(text: str) -> None:
    assert not has_whole_cents(Decimal(text))
