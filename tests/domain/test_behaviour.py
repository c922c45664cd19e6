from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.behaviour import GAP_EDGES, Gap, build_traits, compute_gap, hash_traits


def verdict(**evidence: Any) -> dict[str, Any]:
    return {
        "criterion": "weights",
        "outcome": "not_met",
        "reason": "outside_tolerance",
        "evidence": evidence,
    }


@pytest.mark.parametrize(
    ("evidence", "gap"),
    [
        pytest.param({"measured": 0.05, "needed": 0.02}, Gap("over", 1), id="1 to 3 times"),
        pytest.param({"measured": 0.06, "needed": 0.02}, Gap("over", 2), id="at an edge"),
        pytest.param({"measured": 0.5, "needed": 0.02}, Gap("over", 3), id="10 to 30 times"),
        pytest.param({"measured": 1e9, "needed": 0.02}, Gap("over", len(GAP_EDGES)), id="far"),
        pytest.param(
            {"measured": 1, "needed": 0}, Gap("over", len(GAP_EDGES)), id="nothing allowed"
        ),
        pytest.param(
            {"measured": 0.2, "needed": 0.9, "at_least": True}, Gap("under", 2), id="too little"
        ),
        pytest.param(
            {"measured": 0.01, "needed": 0.02, "share": 0.6}, Gap("share", 2), id="not everywhere"
        ),
        pytest.param(
            {"measured": 0.5, "needed": 0.1, "expected": [0.0, 0.1]}, Gap("above", 2), id="above"
        ),
        pytest.param(
            {"measured": 0.5, "needed": 0.1, "expected": [0.9, 1.0]}, Gap("below", 2), id="below"
        ),
        pytest.param({"measured": None, "needed": 1}, None, id="not finite"),
        pytest.param({}, None, id="nothing measured"),
    ],
)
def test_gaps_are_sorted_by_size(evidence: dict[str, Any], gap: Gap | None) -> None:
    assert compute_gap(evidence) == gap


def test_answers_that_miss_by_about_as_much_did_the_same() -> None:
    one, other, far = (
        build_traits([verdict(measured=each, needed=0.02)]) for each in (0.3, 0.5, 0.9)
    )

    assert hash_traits(one) == hash_traits(other)
    assert hash_traits(one) != hash_traits(far)


def test_how_well_something_was_met_makes_no_difference() -> None:
    met = [
        build_traits([verdict(measured=each, needed=1.0) | {"outcome": "met"}])
        for each in (0.1, 0.9)
    ]

    assert met[0] == met[1]


def test_what_waits_for_a_person_is_left_out() -> None:
    written = verdict() | {"criterion": "explanation", "outcome": "pending"}

    assert build_traits([verdict(), written]) == build_traits([verdict()])


def test_a_key_is_the_same_in_every_process() -> None:
    assert hash_traits(build_traits([verdict(measured=0.3, needed=0.02)])) == "294cf7cf80189311"


@given(st.floats(0, 1e12), st.floats(1e-6, 1e3), st.floats(1, 1e3))
def test_a_wider_gap_is_never_called_smaller(measured: float, needed: float, factor: float) -> None:
    near = compute_gap({"measured": measured, "needed": needed})
    far = compute_gap({"measured": measured * factor, "needed": needed})

    assert near is not None
    assert far is not None
    assert near.size <= far.size
