"""Canonical JSON: the bytes that RFC 8785 asks for, whichever library writes them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from grader.feedback.base import to_canonical_json

#: The largest integer that every double keeps; larger ones are rounded.
EXACT = 2**53 - 1

FLOATS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(1e-7, 1e-3)
    | st.floats(1e14, 1e22)
    | st.integers(-(10**22), 10**22).map(float)
    | st.sampled_from([0.0, -0.0, 5e-324, 1e-7, 1e-6, 1e-5, 1e-4, 9.999e-5, 1e15, 1e16, 1e20])
    | st.sampled_from([1e21, 1e22, 999999999999999.9, 1.7976931348623157e308, 2.0**53, 0.1 + 0.2])
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    # Sorted by UTF-16 the astral ones come before the last of the basic plane.
    ["", "\x00", "\x1f", "\x7f", "\u2028", '"', "\\", "/", "é", "€", "\ufb33", "\uffff", "😀", "𝒳"]
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | FLOATS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXTS, inner, max_size=5)
    ),
    max_leaves=12,
)

PLAIN_WITH_LARGE = st.recursive(
    st.integers(-(2**70), 2**70) | st.booleans() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@given(PLAIN)
@example({"\ufb33": 1, "😀": {"b": -0.0, "a": [1e21, 1e-7, 1.0]}, "\r": None})
@example({"outer": {"\uffff": 1e16, "𝒳": True}})
def test_plain_data_is_written_as_the_standard_has_it(data: Any) -> None:
    assert to_canonical_json(data) == rfc8785.dumps(data)


@given(FLOATS)
def test_every_double_is_written_as_the_standard_has_it(number: float) -> None:
    assert to_canonical_json(number) == rfc8785.dumps(number)
    assert to_canonical_json({"a": [number]}) == rfc8785.dumps({"a": [number]})


@given(st.integers(-(10**30), 10**30))
@example(EXACT + 1)
@example(-EXACT - 1)
@example(2**63)
@example(2**64)
@example(10**21)
def test_an_integer_is_written_as_the_double_that_it_is_rounded_to(number: int) -> None:
    assert to_canonical_json([number]) == rfc8785.dumps([float(number)])


@given(PLAIN_WITH_LARGE)
@example({"é": 2**60})
@example({"😀": [{"a": 2**64}], "\ufb33": -(2**53)})
def test_large_integers_are_rounded_wherever_they_stand(data: Any) -> None:
    assert to_canonical_json(data) == rfc8785.dumps(round_integers(data))


def round_integers(data: Any) -> Any:
    match data:
        case dict():
            return {name: round_integers(value) for name, value in data.items()}
        case list():
            return [round_integers(each) for each in data]
        case int() if not isinstance(data, bool):
            return float(data)
        case _:
            return data


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda number: number, id="alone"),
        pytest.param(lambda number: [1, number], id="in a list"),
        pytest.param(lambda number: {"a": {"b": number}}, id="in an object"),
        pytest.param(lambda number: {"é": number}, id="behind a key that is not ASCII"),
    ],
)
def test_what_is_no_number_is_refused(number: float, place: Any) -> None:
    with pytest.raises(rfc8785.FloatDomainError):
        to_canonical_json(place(number))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({1: 2}, id="a key that is no text"),
        pytest.param({"a": {1, 2}}, id="a set"),
        pytest.param([b"bytes"], id="bytes"),
        pytest.param("\ud800", id="half of a character"),
    ],
)
def test_what_json_does_not_have_is_refused(data: Any) -> None:
    with pytest.raises((rfc8785.CanonicalizationError, TypeError, ValueError, AttributeError)):
        to_canonical_json(data)
