"""Tallies: how many key sets kept each level's bound, and what that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.confidence import Share
from grader.engine.question import Level, Measured
from grader.engine.sample.context import SLACK

Array = NDArray[Any]


@dataclass(slots=True)
class Tally:
    """For one criterion and every answer: how many key sets kept each level's bound."""

    passed: NDArray[np.intp]
    tried: NDArray[np.intp]
    drawn: NDArray[np.intp]
    median: Array
    finite: NDArray[np.bool_]

    @classmethod
    def empty(cls, answers: int, levels: int) -> Tally:
        """Nothing counted yet."""
        return cls(
            np.zeros((answers, levels), dtype=np.intp),
            np.zeros(answers, dtype=np.intp),
            np.zeros(answers, dtype=np.intp),
            np.zeros(answers),
            np.ones(answers, dtype=bool),
        )


def count_key_sets(
    tally: Tally,
    criterion: Measured,
    measured: Array,
    kept: Array | None,
    rows: NDArray[np.intp],
) -> None:
    """Add what was measured on further key sets to a criterion's tally."""
    if len(measured) != len(rows):
        measured = np.broadcast_to(measured, (len(rows), measured.shape[1]))
    counted = None if kept is None or measured.shape[1] == 1 else kept
    is_first = not tally.drawn[rows[0]]
    if is_first:
        tally.median[rows] = _median(measured, counted)
    for column, level in enumerate(criterion.levels):
        holds = _holds(level, measured)
        if counted is not None:
            holds = holds & counted
        tally.passed[rows, column] += holds.sum(axis=1)
    tally.drawn[rows] += measured.shape[1]
    tally.tried[rows] += measured.shape[1] if counted is None else counted.sum(axis=1)
    tally.finite[rows] &= np.isfinite(measured).all(axis=1)


def _holds(level: Level, measured: Array) -> Array:
    slack = SLACK * abs(level.bound)
    if level.within is not None:
        return np.asarray(measured <= level.bound + slack)
    return np.asarray(measured >= level.bound - slack)


def _median(measured: Array, kept: Array | None) -> Array:
    """The lower median over the key sets that count."""
    if kept is not None:
        measured = np.where(kept, measured, np.inf)
        middle = np.maximum(kept.sum(axis=1) - 1, 0) // 2
        ordered = np.sort(measured, axis=1)
        return np.asarray(np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0])
    middle_of_all = (measured.shape[1] - 1) // 2
    return np.asarray(np.partition(measured, middle_of_all, axis=1)[:, middle_of_all])


def share_of(tally: Tally, row: int, column: int) -> Share:
    """The share of key sets on which an answer kept one level's bound."""
    return Share(int(tally.passed[row, column]), int(tally.tried[row]))


def clears(level: Level, share: Share) -> bool:
    """Whether a level is reached: on every key set, or on as many as it asks for."""
    if level.share is None:
        return share.passed == share.tried > 0
    return share.clears(level.share)


def _straddles(level: Level, share: Share) -> bool:
    if level.share is None:
        return False
    return not share.clears(level.share) and not share.misses(level.share)


def is_open(criteria: Sequence[Measured], tallies: dict[str, Tally], row: int) -> bool:
    """Whether further key sets could still change a verdict."""
    return any(open_level(each, tallies[each.id], row) is not None for each in criteria)


def open_level(criterion: Measured, tally: Tally, row: int) -> int | None:
    """The best level that is neither cleared nor missed, unless a better one is cleared."""
    for column, level in enumerate(criterion.levels):
        share = share_of(tally, row, column)
        if clears(level, share):
            return None
        if _straddles(level, share):
            return column
    return None
