"""How students did on a question, in figures: functions of plain numbers and nothing else.

Students are whole numbers from 0, points whole hundredths, times whole microseconds: sums are exact
then, and so is the question whether all students have the same. See
docs/explanation/what-the-statistics-mean.md for their meaning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: With fewer students a correlation says next to nothing.
MIN_STUDENTS = 20
#: A question below it hardly tells those who know more from those who know less.
LOW_DISCRIMINATION = 0.1
_HOUR = 3600 * 1_000_000
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class AttemptArrays:
    """The attempts of many students at one question, in any order.

    Parameters
    ----------
    student, number
        (A,) whose attempt it is and the student's attempt number, from 1 without gaps.
    points, possible
        (A,) the points earned and the points possible, which are more than zero.
    at
        (A,) when it arrived.
    """

    student: IntArray
    number: IntArray
    points: IntArray
    possible: IntArray
    at: IntArray

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """(A,) which of them are a student's first."""
        return np.equal(self.number, 1)

    @property
    def is_solved(self) -> NDArray[np.bool_]:
        """(A,) which of them earned everything."""
        return np.greater_equal(self.points, self.possible)


@dataclass(frozen=True, slots=True)
class StudentMean:
    """A mean over n students; None if there are none."""

    n: int
    value: float | None


def _mean(values: FloatArray) -> StudentMean:
    return StudentMean(len(values), float(values.mean()) if len(values) else None)


def compute_difficulty(tries: AttemptArrays) -> StudentMean:
    """The mean share of the points that first attempts earned: near 1 is easy, near 0 is hard."""
    first = tries.is_first
    return _mean(tries.points[first] / tries.possible[first])


def compute_success_rate(tries: AttemptArrays) -> StudentMean:
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
        return self.value is not None and self.value < LOW_DISCRIMINATION


def compute_first_scores(tries: AttemptArrays, students: int) -> FloatArray:
    """(S,) the points of each student's first attempt; NaN for those who made none."""
    scores = np.full(students, np.nan)
    scores[tries.student[tries.is_first]] = tries.points[tries.is_first]
    return scores


def compute_discrimination(scores: FloatArray, item: int) -> Correlation:
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


def correlate(left: FloatArray, right: FloatArray) -> Correlation:
    """Pearson's correlation of two (n,) arrays, with Fisher's interval.

    Without a value where n is below `MIN_STUDENTS` or all numbers of one side are equal.
    """
    n = len(left)
    if n < MIN_STUDENTS or np.ptp(left) == 0 or np.ptp(right) == 0:
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
class SolvingStep:
    """The k-th attempt: how many unsolved students made it, and how many of them solved it then.

    `unsolved` is S(k), the share that is still without a solution after k attempts.
    """

    attempt: int
    tried: int
    solved: int
    unsolved: float


@dataclass(frozen=True, slots=True)
class AttemptsToSolve:
    """How many attempts it takes n students; `censored` of them stopped without a solution."""

    n: int
    censored: int
    steps: tuple[SolvingStep, ...]


def estimate_survival(tries: AttemptArrays) -> AttemptsToSolve:
    """Kaplan and Meier's estimate: who stops counts until then, and neither way afterwards."""
    solved_by, last = _find_solving_attempts(tries)
    stop = np.minimum(solved_by, last)
    is_solver = solved_by < _NEVER
    longest = int(stop.max(initial=0))
    solved = np.bincount(stop[is_solver], minlength=longest + 1)[1:]
    stopped = np.bincount(stop, minlength=longest + 1)
    tried = len(stop) - np.cumsum(stopped)[:-1]
    unsolved = np.cumprod(1 - solved / tried)
    steps = zip(tried.tolist(), solved.tolist(), unsolved.tolist(), strict=True)
    return AttemptsToSolve(
        len(stop),
        int(np.count_nonzero(~is_solver)),
        tuple(SolvingStep(place, *step) for place, step in enumerate(steps, start=1)),
    )


def _find_solving_attempts(tries: AttemptArrays) -> tuple[IntArray, IntArray]:
    """For every student who tried: the first number that solved it, and the last number at all."""
    students, who = np.unique(tries.student, return_inverse=True)
    solved_by = np.full(len(students), _NEVER)
    np.minimum.at(solved_by, who[tries.is_solved], tries.number[tries.is_solved])
    last = np.zeros(len(students), dtype=np.int64)
    np.maximum.at(last, who, tries.number)
    return solved_by, last


# Posts


def count_per_hour(at: IntArray) -> list[tuple[int, int]]:
    """How many of these moments fall into each hour, by its beginning; empty hours are left out."""
    hours, counts = np.unique(at // _HOUR, return_counts=True)
    return list(zip((hours * _HOUR).tolist(), counts.tolist(), strict=True))


_SECOND = 1_000_000
#: A longer pause counts as a break, not as work.
MAX_PAUSE = 30 * 60 * _SECOND


@dataclass(frozen=True, slots=True)
class TimeToCorrect:
    """The time from first view to first correct attempt, of the n students who have both.

    `censored` students saw or tried the question and have not solved it; `untimed` ones solved it,
    but it is not known how long they worked.
    """

    n: int
    censored: int
    untimed: int
    lower_quartile_seconds: float | None
    median_seconds: float | None
    upper_quartile_seconds: float | None


def compute_time_to_correct(tries: AttemptArrays, seen_at: IntArray) -> TimeToCorrect:
    """The time from the first view to the first correct attempt, long pauses cut out.

    Parameters
    ----------
    seen_at
        (S,) when each student first saw the question; negative for those who did not.
    """
    solved_at = _find_solving_times(tries, len(seen_at))
    is_solver = solved_at >= 0
    worked, is_timed = _compute_working_time(tries, seen_at, solved_at)
    seconds = worked[is_timed] / _SECOND
    has_begun = seen_at >= 0
    has_begun[tries.student] = True
    low, middle, high = (
        np.percentile(seconds, [25, 50, 75]).tolist() if len(seconds) else (None, None, None)
    )
    return TimeToCorrect(
        n=len(seconds),
        censored=int(np.count_nonzero(has_begun & ~is_solver)),
        untimed=int(np.count_nonzero(is_solver & ~is_timed)),
        lower_quartile_seconds=low,
        median_seconds=middle,
        upper_quartile_seconds=high,
    )


def _find_solving_times(tries: AttemptArrays, students: int) -> IntArray:
    """(S,) when each student's first correct attempt arrived; -1 for those without one."""
    solved = np.flatnonzero(tries.is_solved)
    # The first one is written last, and stays.
    solved = solved[np.argsort(-tries.number[solved], kind="stable")]
    solved_at = np.full(students, -1)
    solved_at[tries.student[solved]] = tries.at[solved]
    return solved_at


def _compute_working_time(
    tries: AttemptArrays, seen_at: IntArray, solved_at: IntArray
) -> tuple[IntArray, NDArray[np.bool_]]:
    """(S,) the time between view and solution without long pauses, and whether it is known.

    It is not known for who tried the question before seeing it, nor where every pause was long.
    """
    counted = np.flatnonzero(tries.at <= solved_at[tries.student])
    counted = counted[np.lexsort((tries.at[counted], tries.student[counted]))]
    student, at = tries.student[counted], tries.at[counted]
    begins = np.diff(student, prepend=-1) != 0
    before = np.where(begins, seen_at[student], np.roll(at, 1))
    pause = at - before
    is_work = pause <= MAX_PAUSE
    worked = np.zeros(len(seen_at), dtype=np.int64)
    np.add.at(worked, student[is_work], pause[is_work])
    is_timed = np.zeros(len(seen_at), dtype=np.bool_)
    is_timed[student[is_work]] = True
    is_timed[student[begins & ((before < 0) | (pause < 0))]] = False
    return worked, is_timed
