"""The distribution of a class's totals: a histogram, the median and the middle half."""

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

_MAX_BINS = 16
_ROUND_NUMBERS = (1, 2, 5)
_QUARTERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """How many totals are from `low` to below `high`; the last bin also has those above it."""

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
    """The totals of `n` students; of those who were `selected`, the others have none yet."""

    selected: int
    n: int
    bins: tuple[HistogramBin, ...]
    quartiles: Quartiles | None

    @property
    def max_total(self) -> Decimal:
        """The end of the last bin."""
        return self.bins[-1].high


def load_distribution(
    session: Session, published: PublishedAssignment, selection: Selection
) -> TotalsDistribution:
    """The distribution of the selected students' totals."""
    run_id, assignment = published.line.run_id, published.line.assignment
    possible = sum((each.form.points for each in published.assignment.rubrics.values()), Decimal(0))
    width, count = _choose_bins(possible)
    # Totals above all possible points belong to the last bin.
    counts = [0] * count
    for step, students in count_totals(
        session, run_id=run_id, assignment=assignment, selection=selection, step=width
    ).items():
        counts[min(step, count - 1)] += students
    n = sum(counts)
    totals = find_totals_by_rank(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        ranks=sorted({rank for share in _QUARTERS if n for rank in _nearest_ranks(n, share)}),
    )
    return TotalsDistribution(
        selected=count_selected(session, run_id=run_id, assignment=assignment, selection=selection),
        n=n,
        bins=tuple(
            HistogramBin(width * place, width * (place + 1), students)
            for place, students in enumerate(counts)
        ),
        quartiles=Quartiles(*(_quantile(totals, n, share) for share in _QUARTERS)) if n else None,
    )


def _choose_bins(possible: Decimal) -> tuple[Decimal, int]:
    """The width of a bin, a round number, and how many bins cover all points."""
    possible = max(possible, Decimal(1))
    widths = (Decimal(step) * 10**power / 10 for power in range(9) for step in _ROUND_NUMBERS)
    width = next(each for each in widths if each * _MAX_BINS >= possible)
    return width, math.ceil(possible / width)


def _nearest_ranks(n: int, share: int) -> tuple[int, int]:
    """The two ranks that a quartile lies between; equal if it lies at a rank."""
    whole, rest = divmod((n - 1) * share, 4)
    return whole, whole + (1 if rest else 0)


def _quantile(totals: dict[int, Decimal], n: int, share: int) -> Decimal:
    """A quartile, interpolated between the two nearest totals."""
    low, high = (totals[rank] for rank in _nearest_ranks(n, share))
    return normalize_points(low + (high - low) * (((n - 1) * share) % 4) / 4)
