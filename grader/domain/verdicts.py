"""How an answer came out: verdicts, their reasons and the score they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

_ZERO = Decimal(0)


class Outcome(StrEnum):
    """How one criterion came out."""

    MET = "met"
    PARTLY_MET = "partly_met"
    NOT_MET = "not_met"
    UNGRADABLE = "ungradable"
    PENDING = "pending"


class Reason(StrEnum):
    """Why a criterion came out as it did; stable keys, on which statistics and words hang."""

    HOLDS = "holds"
    LOWER_LEVEL = "lower_level"
    OUTSIDE_TOLERANCE = "outside_tolerance"
    TOO_FEW_KEY_SETS = "too_few_key_sets"
    UNDECIDED = "undecided"
    NEEDS_OTHER = "needs_other"
    NOT_GENERAL = "not_general"
    NOT_FOR_EVERY_SIZE = "not_for_every_size"
    INCONSISTENT = "inconsistent"
    NOT_FINITE = "not_finite"
    UNDEFINED = "undefined"
    WRONG_CHOICE = "wrong_choice"
    AWAITS_REVIEW = "awaits_review"
    NOT_SENT = "not_sent"
    SCORED_OUTSIDE = "scored_outside"


class Scaling(StrEnum):
    """Why an answer was judged at a smaller size, if it was."""

    NONE = "none"
    SATURATED = "saturated"
    """Rounding errors would have decided; a softmax is saturated at the smaller size, too."""
    OVERFLOW = "overflow"
    """What is measured overflows at the size that was sent."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval."""

    low: float
    high: float


# Evidence and verdicts are named tuples: thousands are made in a row, and a frozen dataclass of as
# many fields takes five times as long to make.
class Evidence(NamedTuple):
    """What was measured, and what was needed.

    Parameters
    ----------
    measured
        The typical measure: the median over key sets, or the number itself.
    needed
        The bound that the measure must keep for the level that decided.
    at_least
        Whether the measure must reach the bound, rather than stay within it.
    share, interval, key_sets
        The share of key sets that kept the bound, its confidence interval, and their number.
    drawn
        How many key sets were drawn in all, those left out included.
    share_needed
        The share that the level asks for.
    expected
        For predictions, the interval that what was measured spans.
    is_exact
        For predictions, whether the expected number is a closed form and nothing was measured.
    sizes
        The sizes of constants declared large at which this was found, where it is not right.
    scaling
        Whether and why the answer was judged at a smaller size.
    """

    measured: float | None = None
    needed: float | None = None
    at_least: bool = False
    share: float | None = None
    share_needed: float | None = None
    interval: Interval | None = None
    key_sets: int | None = None
    drawn: int | None = None
    expected: Interval | None = None
    is_exact: bool = False
    sizes: Mapping[str, float] | None = None
    scaling: Scaling = Scaling.NONE


class Verdict(NamedTuple):
    """How one criterion came out, with the credit it earns."""

    criterion: str
    outcome: Outcome
    reason: Reason
    credit: Decimal
    possible: Decimal
    evidence: Evidence = Evidence()

    @property
    def points(self) -> Decimal:
        """The points awarded, to the cent."""
        return _compute_points(self.credit, self.possible)

    @property
    def needs_person(self) -> bool:
        """Whether an instructor must look: the engine could not decide, or could not judge."""
        return self.reason is Reason.UNDECIDED or self.outcome is Outcome.UNGRADABLE


# A question has few levels, so that the same products come up with every answer.
@lru_cache(maxsize=1024)
def _compute_points(credit: Decimal, possible: Decimal) -> Decimal:
    return (credit * possible).quantize(Decimal("0.01")).normalize() + _ZERO


@dataclass(frozen=True, slots=True)
class Score:
    """Points awarded of points possible, and those still to be graded by a person."""

    awarded: Decimal
    possible: Decimal
    automatic: Decimal
    pending: Decimal


def combine(verdicts: Iterable[Verdict]) -> Score:
    """Add up verdicts; what is pending counts as possible and as not yet awarded."""
    awarded = possible = pending = _ZERO
    for verdict in verdicts:
        awarded += verdict.points
        possible += verdict.possible
        if verdict.outcome is Outcome.PENDING:
            pending += verdict.possible
    return Score(awarded, possible, possible - pending, pending)
