"""How long students work on a question until their first correct attempt.

What is known are moments: the first view, and every attempt. Who does nothing for long between two
of them has done something else meanwhile, and that time is cut out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.domain.statistics import Numbers, Tries, Whole

_SECOND = 1_000_000
#: Whoever does nothing for longer than this is taken to have had a break.
LONGEST_PAUSE = 30 * 60 * _SECOND


@dataclass(frozen=True, slots=True)
class Timing:
    """How long n students worked until the first correct attempt: quartiles in seconds.

    `censored` students saw or tried the question and have not solved it; `untimed` ones solved it
    and nothing is known about how long they worked.
    """

    n: int
    censored: int
    untimed: int
    quartiles: tuple[float, float, float] | None


def time_to_correct(tries: Tries, seen_at: Whole) -> Timing:
    """The time from the first view to the first correct attempt, long pauses cut out.

    Parameters
    ----------
    seen_at
        (S,) when each student first saw the question; negative for those who did not.
    """
    solved_at = _solved_at(tries, len(seen_at))
    is_solver = solved_at >= 0
    worked, is_timed = _worked(tries, seen_at, solved_at)
    seconds = worked[is_timed] / _SECOND
    has_begun = seen_at >= 0
    has_begun[tries.student] = True
    return Timing(
        n=len(seconds),
        censored=int(np.count_nonzero(has_begun & ~is_solver)),
        untimed=int(np.count_nonzero(is_solver & ~is_timed)),
        quartiles=_quartiles(seconds),
    )


def _solved_at(tries: Tries, students: int) -> Whole:
    """(S,) when each student's first correct attempt arrived; -1 for those without one."""
    solved = np.flatnonzero(tries.is_solved)
    # The first one is written last, and stays.
    solved = solved[np.argsort(-tries.number[solved], kind="stable")]
    solved_at = np.full(students, -1)
    solved_at[tries.student[solved]] = tries.at[solved]
    return solved_at


def _worked(tries: Tries, seen_at: Whole, solved_at: Whole) -> tuple[Whole, NDArray[np.bool_]]:
    """(S,) the time between view and solution without long pauses, and whether it is known.

    It is not known for who tried the question before seeing it, nor where every pause was long.
    """
    counted = np.flatnonzero(tries.at <= solved_at[tries.student])
    counted = counted[np.lexsort((tries.at[counted], tries.student[counted]))]
    student, at = tries.student[counted], tries.at[counted]
    begins = np.diff(student, prepend=-1) != 0
    before = np.where(begins, seen_at[student], np.roll(at, 1))
    pause = at - before
    is_work = pause <= LONGEST_PAUSE
    worked = np.zeros(len(seen_at), dtype=np.int64)
    np.add.at(worked, student[is_work], pause[is_work])
    is_timed = np.zeros(len(seen_at), dtype=np.bool_)
    is_timed[student[is_work]] = True
    is_timed[student[begins & ((before < 0) | (pause < 0))]] = False
    return worked, is_timed


def _quartiles(values: Numbers) -> tuple[float, float, float] | None:
    if not len(values):
        return None
    low, middle, high = np.percentile(values, [25, 50, 75]).tolist()
    return low, middle, high
