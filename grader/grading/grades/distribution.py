"""How the totals of a class are spread: a histogram, the median, and the middle half."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from grader.domain.policies import tidy
from grader.grading.context import Published
from grader.store.database import Session
from grader.store.queries.selections import Selection
from grader.store.queries.totals import count_chosen, count_totals, find_totals_at

#: At most so many steps are drawn.
_MOST_STEPS = 16
_ROUND = (1, 2, 5)
_QUARTERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Step:
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
class Spread:
    """The totals of `n` students out of those who were `chosen`: the others have none yet."""

    chosen: int
    n: int
    steps: tuple[Step, ...]
    quartiles: Quartiles | None

    @property
    def most(self) -> Decimal:
        """Where the last step ends."""
        return self.steps[-1].high


def load_spread(session: Session, published: Published, selection: Selection) -> Spread:
    """How the totals of the chosen students are spread."""
    run_id, assignment = published.line.run_id, published.line.assignment
    possible = sum((each.form.points for each in published.assignment.rubrics.values()), Decimal(0))
    width, count = divide(possible)
    counts = count_totals(
        session, run_id=run_id, assignment=assignment, selection=selection, step=width
    )
    n = sum(counts.values())
    totals = find_totals_at(
        session,
        run_id=run_id,
        assignment=assignment,
        selection=selection,
        places=sorted({place for share in _QUARTERS if n for place in _around(n, share)}),
    )
    return Spread(
        chosen=count_chosen(session, run_id=run_id, assignment=assignment, selection=selection),
        n=n,
        steps=tuple(
            Step(width * place, width * (place + 1), _at(counts, place, count))
            for place in range(count)
        ),
        quartiles=Quartiles(*(_quantile(totals, n, share) for share in _QUARTERS)) if n else None,
    )


def _at(counts: dict[int, int], place: int, count: int) -> int:
    """How many are at a step; more points than can be had are at the last."""
    return sum(many for step, many in counts.items() if min(step, count - 1) == place)


def divide(possible: Decimal) -> tuple[Decimal, int]:
    """The width of a step, a round number, and how many steps reach from nothing to all points."""
    possible = max(possible, Decimal(1))
    widths = (Decimal(step) * 10**power / 10 for power in range(9) for step in _ROUND)
    width = next(each for each in widths if each * _MOST_STEPS >= possible)
    return width, math.ceil(possible / width)


def _around(n: int, share: int) -> tuple[int, int]:
    """The two places that a quartile lies between, which are one where it lies at a place."""
    whole, rest = divmod((n - 1) * share, 4)
    return whole, whole + (1 if rest else 0)


def _quantile(totals: dict[int, Decimal], n: int, share: int) -> Decimal:
    """A quartile by the straight line between the two nearest totals."""
    low, high = (totals[place] for place in _around(n, share))
    return tidy(low + (high - low) * (((n - 1) * share) % 4) / 4)
