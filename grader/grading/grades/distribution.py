"""How the totals of a class are spread: a histogram, the median, and the middle half."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from grader.domain.policies import normalize_points
from grader.grading.context import PublishedAssignment
from grader.store.database import Session
from grader.store.queries.gradebook import (
    Selection,
    count_selected,
    count_totals,
    find_totals_by_rank,
)

#: At most so many steps are drawn.
_MAX_BINS = 16
_ROUND_NUMBERS = (1, 2, 5)
_QUARTERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """How many totals are from `low` to below `high`; the last step has also what is above."""

    low: Decimal
    high: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Half of the totals are from `lower` to `upper`, and half are below the median."""

    lower: Decimal
    median: Decimal
    upper: Decimal


@dataclass(frozen=True, slots=True)
class TotalsDistribution:
    """The totals of `n` students out of those who were `chosen`: the others have none yet."""

    chosen: int
    n: int
    steps: tuple[HistogramBin, ...]
    quartiles: Quartiles | None

    @property
    def most(self) -> Decimal:
        """Where the last step ends."""
        return self.steps[-1].high


def load_distribution(
    session: Session, published: PublishedAssignment, selection: Selection
) -> TotalsDistribution:
    """How the totals of the chosen students are spread."""
    run_id, assignment = published.line.run_id, published.line.assignment
    possible = sum((each.form.points for each in published.assignment.rubrics.values()), Decimal(0))
    width, count = _choose_bins(possible)
    counts = count_totals(
        session, run_id=run_id, assignment=assignment, selection=selection, step=width
    )
    n = sum(counts.values())
    totals = find_totals_by_rank(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        ranks=sorted({rank for share in _QUARTERS if n for rank in _nearest_ranks(n, share)}),
    )
    return TotalsDistribution(
        chosen=count_selected(session, run_id=run_id, assignment=assignment, selection=selection),
        n=n,
        steps=tuple(
            HistogramBin(width * place, width * (place + 1), _count_in_bin(counts, place, count))
            for place in range(count)
        ),
        quartiles=Quartiles(*(_quantile(totals, n, share) for share in _QUARTERS)) if n else None,
    )


def _count_in_bin(counts: dict[int, int], place: int, count: int) -> int:
    """How many are at a step; more points than can be had are at the last."""
    return sum(many for step, many in counts.items() if min(step, count - 1) == place)


def _choose_bins(possible: Decimal) -> tuple[Decimal, int]:
    """The width of a step, a round number, and how many steps reach from nothing to all points."""
    possible = max(possible, Decimal(1))
    widths = (Decimal(step) * 10**power / 10 for power in range(9) for step in _ROUND_NUMBERS)
    width = next(each for each in widths if each * _MAX_BINS >= possible)
    return width, math.ceil(possible / width)


def _nearest_ranks(n: int, share: int) -> tuple[int, int]:
    """The two places that a quartile lies between, which are one where it lies at a place."""
    whole, rest = divmod((n - 1) * share, 4)
    return whole, whole + (1 if rest else 0)


def _quantile(totals: dict[int, Decimal], n: int, share: int) -> Decimal:
    """A quartile by the straight line between the two nearest totals."""
    low, high = (totals[place] for place in _nearest_ranks(n, share))
    return normalize_points(low + (high - low) * (((n - 1) * share) % 4) / 4)
