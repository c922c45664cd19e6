"""How students did on a question, in figures: functions of plain numbers and nothing else.

Students are whole numbers from 0, points whole hundredths, times whole microseconds: sums are exact
then, and so is the question whether all students have the same. What the figures mean is told in
docs/explanation/what-the-statistics-mean.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Numbers = NDArray[np.float64]

#: With fewer students a correlation says next to nothing.
FEWEST_STUDENTS = 20
#: A question below it hardly tells those who know more from those who know less.
DUBIOUS_BELOW = 0.1
_HOUR = 3600 * 1_000_000
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Tries:
    """The attempts of many students at one question, in any order.

    Parameters
    ----------
    student, number
        (A,) whose attempt it is and the how-manieth of that student, from 1 without gaps.
    points, possible
        (A,) what it earned of what could be earned, which is more than nothing.
    at
        (A,) when it arrived.
    """

    student: Whole
    number: Whole
    points: Whole
    possible: Whole
    at: Whole

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """(A,) which of them are a student's first."""
        return np.equal(self.number, 1)

    @property
    def is_solved(self) -> NDArray[np.bool_]:
        """(A,) which of them earned everything."""
        return np.greater_equal(self.points, self.possible)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over so many students; None where there are none."""

    n: int
    value: float | None


def _mean(values: Numbers) -> Mean:
    return Mean(len(values), float(values.mean()) if len(values) else None)


def difficulty(tries: Tries) -> Mean:
    """The mean share of the points that first attempts earned: near 1 is easy, near 0 is hard."""
    first = tries.is_first
    return _mean(tries.points[first] / tries.possible[first])


def success_rate(tries: Tries) -> Mean:
    """The share of students whose best attempt earned everything."""
    students = np.unique(tries.student)
    return _mean(np.isin(students, tries.student[tries.is_solved]).astype(np.float64))


# Discrimination


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation over n students with its 95 % interval; None where it would say nothing."""

    n: int
    value: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def is_dubious(self) -> bool:
        """Whether it is known, and so low that the question should be looked at."""
        return self.value is not None and self.value < DUBIOUS_BELOW


def first_scores(tries: Tries, students: int) -> Numbers:
    """(S,) the points of each student's first attempt; NaN for those who made none."""
    scores = np.full(students, np.nan)
    scores[tries.student[tries.is_first]] = tries.points[tries.is_first]
    return scores


def discrimination(scores: Numbers, item: int) -> Correlation:
    """How well the points at one question go along with the points at all others.

    Parameters
    ----------
    scores
        (S, Q) the points of first attempts; NaN where a student made none, which adds nothing to
        a total. Only students who tried the item itself are counted.
    """
    tried = scores[~np.isnan(scores[:, item])]
    # The item itself is no part of the total: with few questions it would correlate with itself.
    others = np.nansum(np.delete(tried, item, axis=1), axis=1)
    return correlate(tried[:, item], others)


def correlate(left: Numbers, right: Numbers) -> Correlation:
    """Pearson's correlation of two (n,) arrays, with Fisher's interval.

    Without a value where n is below `FEWEST_STUDENTS` or all numbers of one side are equal.
    """
    n = len(left)
    if n < FEWEST_STUDENTS or np.ptp(left) == 0 or np.ptp(right) == 0:
        return Correlation(n)
    x, y = left - left.mean(), right - right.mean()
    value = float(np.clip(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)), -1, 1))
    return Correlation(n, value, _fisher_interval(value, n))


def _fisher_interval(value: float, n: int) -> tuple[float, float]:
    if abs(value) == 1:
        return value, value
    centre, reach = math.atanh(value), 1.96 / math.sqrt(n - 3)
    return math.tanh(centre - reach), math.tanh(centre + reach)


# Attempts to solve


@dataclass(frozen=True, slots=True)
class Step:
    """The k-th attempt: how many unsolved students made it, and how many of them solved it then.

    `unsolved` is S(k), the share that is still without a solution after k attempts.
    """

    attempt: int
    tried: int
    solved: int
    unsolved: float


@dataclass(frozen=True, slots=True)
class Survival:
    """How many attempts it takes n students; `censored` of them stopped without a solution."""

    n: int
    censored: int
    steps: tuple[Step, ...]


def survival(tries: Tries) -> Survival:
    """Kaplan and Meier's estimate: who stops counts until then, and neither way afterwards."""
    solved_by, last = _solved_by(tries)
    stop = np.minimum(solved_by, last)
    is_solver = solved_by < _NEVER
    longest = int(stop.max(initial=0))
    solved = np.bincount(stop[is_solver], minlength=longest + 1)[1:]
    stopped = np.bincount(stop, minlength=longest + 1)
    tried = len(stop) - np.cumsum(stopped)[:-1]
    unsolved = np.cumprod(1 - solved / tried)
    steps = zip(tried.tolist(), solved.tolist(), unsolved.tolist(), strict=True)
    return Survival(
        len(stop),
        int(np.count_nonzero(~is_solver)),
        tuple(Step(place, *step) for place, step in enumerate(steps, start=1)),
    )


def _solved_by(tries: Tries) -> tuple[Whole, Whole]:
    """For every student who tried: the first number that solved it, and the last number at all."""
    students, who = np.unique(tries.student, return_inverse=True)
    solved_by = np.full(len(students), _NEVER)
    np.minimum.at(solved_by, who[tries.is_solved], tries.number[tries.is_solved])
    last = np.zeros(len(students), dtype=np.int64)
    np.maximum.at(last, who, tries.number)
    return solved_by, last


# Posts


def posts_per_hour(at: Whole) -> list[tuple[int, int]]:
    """How many of these moments fall into each hour, by its beginning; empty hours are left out."""
    hours, counts = np.unique(at // _HOUR, return_counts=True)
    return list(zip((hours * _HOUR).tolist(), counts.tolist(), strict=True))
