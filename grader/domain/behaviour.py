"""What an answer did, coarsely: answers that go wrong in the same way come to the same.

An answer that fits no known misconception is still like others: the same criteria come out the same
way for the same reason, and are off by about as much. That is what is compared here, never what was
typed.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from grader.domain.verdicts import Outcome

#: The edges between sizes of a gap, in multiples of what is allowed.
GAP_EDGES = (1, 3, 10, 30, 100, 300, 1000, 1_000_000)


class Gap(NamedTuple):
    """By how much a criterion was missed.

    `way` is one of `over` and `under` (a bound), `above` and `below` (what a prediction is compared
    with), and `share` (kept on too few key sets). `size` counts the edges that were passed; for a
    share it is the number of whole quarters.
    """

    way: str
    size: int


class Trait(NamedTuple):
    """How one criterion came out, without the digits."""

    criterion: str
    outcome: str
    reason: str
    gap: Gap | None


#: All traits of an attempt, in the order of its verdicts.
Traits = tuple[Trait, ...]


def build_traits(verdicts: Iterable[Mapping[str, Any]]) -> Traits:
    """What an attempt did by its verdicts as they are stored.

    Criteria to be graded by a person say nothing about the answer and are left out.
    """
    return tuple(
        Trait(
            each["criterion"],
            each["outcome"],
            each["reason"],
            None if each["outcome"] == Outcome.MET.value else compute_gap(each["evidence"]),
        )
        for each in verdicts
        if each["outcome"] != Outcome.PENDING.value
    )


@lru_cache(maxsize=4096)
def hash_traits(traits: Traits) -> str:
    """A short name for all attempts that did this; the same in every process."""
    return hashlib.sha256(repr(traits).encode()).hexdigest()[:16]


def compute_gap(evidence: Mapping[str, Any]) -> Gap | None:
    """How large the gap is by the evidence as it is stored; None where nothing was measured."""
    measured, needed = evidence.get("measured"), evidence.get("needed")
    if measured is None or needed is None:
        return None
    if "expected" in evidence:
        return _compute_gap_from_interval(measured, needed, *evidence["expected"])
    at_least = evidence.get("at_least", False)
    ratio = _ratio(needed, measured) if at_least else _ratio(measured, needed)
    share = evidence.get("share")
    if ratio <= 1 and share is not None:
        return Gap("share", int(4 * share))
    return Gap("under" if at_least else "over", _size(ratio))


def _compute_gap_from_interval(predicted: float, tolerance: float, low: float, high: float) -> Gap:
    if predicted > high:
        return Gap("above", _size(_ratio(predicted - high, tolerance)))
    return Gap("below", _size(_ratio(low - predicted, tolerance)))


def _ratio(large: float, small: float) -> float:
    """How many times the one is the other; infinitely many times where the other is nothing."""
    return large / small if small > 0 else math.inf


def _size(ratio: float) -> int:
    return bisect_right(GAP_EDGES, ratio)
