"""Chances in words: 1 in so many, with as many digits as are known."""

from __future__ import annotations

from datetime import datetime

from grader.grading.integrity.coincidence import Chance
from grader.web.pages.format import say_span


def say_chance(probability: float, *, is_bound: bool = False) -> str:
    """A probability as people say it; with `is_bound` it is known to be smaller."""
    if probability >= 0.5:
        return "not known" if is_bound else "more likely than not"
    if probability <= 0:
        return "next to none"
    return f"{'less than' if is_bound else 'about'} 1 in {_rounded(1 / probability):,}"


def say_for_any(chance: Chance) -> str:
    """How probable it is to solve at least one of the others' variants by accident."""
    return say_chance(chance.for_any, is_bound=chance.is_bound)


def say_for_one(chance: Chance) -> str:
    """The same for the variant of one student."""
    one = chance.bound_for_one if chance.is_bound else chance.for_one
    return say_chance(one, is_bound=chance.is_bound)


def say_apart(moment: datetime, other: datetime) -> str:
    """How much earlier or later another moment is: 2 h 13 min earlier."""
    said = say_span(other, moment)
    if said.endswith(" ago"):
        return said.removesuffix(" ago") + " earlier"
    return said.removeprefix("in ") + " later"


def _rounded(number: float) -> int:
    """To two digits, and never up, so that nothing is said to be rarer than it is."""
    whole = int(number)
    step = int(10 ** max(len(str(whole)) - 2, 0))
    return whole // step * step
