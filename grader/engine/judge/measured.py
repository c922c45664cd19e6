"""What answers do → verdicts, for many answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.confidence import Share
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.engine.sample.context import (
    SLACK,
    SamplingContext,
    count_answers,
    split_into_batches,
    to_nine_digits,
)
from grader.engine.sample.observe import add_noise_products, observe, select_rows
from grader.engine.sample.plans import list_saturating_fields
from grader.engine.sample.rescale import OVERFLOW_EXPONENT, SATURATED_EXPONENT, scale_down_answers
from grader.formula.eval.evaluate import Environment

ONE, ZERO = Decimal(1), Decimal(0)


def judge_measured(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    ground: SamplingContext,
) -> list[list[Verdict]]:
    """Judge what answers do; for every answer one verdict for each criterion.

    What is too large to be computed with is judged at a smaller size.
    """
    answers = count_answers(environment)
    environment, shrunk = scale_down_answers(
        environment, list_saturating_fields(question), SATURATED_EXPONENT
    )
    verdicts = _judge(question, criteria, environment, ground, answers)
    for row in np.flatnonzero(shrunk).tolist():
        verdicts[row] = [_as_shrunk(verdict) for verdict in verdicts[row]]
    unfinished = [
        row for row, line in enumerate(verdicts) if any(_is_not_finite(each) for each in line)
    ]
    if unfinished:
        rows = np.array(unfinished)
        names = [field.name for field in question.fields]
        smaller, _ = scale_down_answers(select_rows(environment, rows), names, OVERFLOW_EXPONENT)
        again = _judge(question, criteria, smaller, ground, len(rows))
        for row, line in zip(unfinished, again, strict=True):
            verdicts[row] = [_as_shrunk(verdict) for verdict in line]
    return verdicts


def _is_not_finite(verdict: Verdict) -> bool:
    return verdict.reason is Reason.NOT_FINITE


def _as_shrunk(verdict: Verdict) -> Verdict:
    return replace(verdict, evidence=replace(verdict.evidence, is_shrunk=True))


def _judge(
    question: Question,
    criteria: Sequence[MeasuredCriterion],
    environment: Environment,
    ground: SamplingContext,
    answers: int,
) -> list[list[Verdict]]:
    counts = question.key_sets.counts if question.key_sets else (1,)
    nodes = [each.measure for each in criteria]
    tallies = {each.id: _Tally.empty(answers, len(each.levels)) for each in criteria}
    waiting = np.arange(answers)
    first = 0
    for last in counts:
        rows = environment if len(waiting) == answers else select_rows(environment, waiting)
        source = ground.source(first, last) if question.key_sets else None
        if source is not None and len(waiting) > 1:
            rows = add_noise_products(question, rows, nodes, source)
        for part in split_into_batches(question, answers=len(waiting), key_sets=last - first):
            few = rows if len(waiting) == 1 else select_rows(rows, part)
            seen = observe(question, few, nodes, source)
            for criterion, measured in zip(criteria, seen.values, strict=True):
                _count_key_sets(
                    tallies[criterion.id], criterion, measured, seen.kept, waiting[part]
                )
        waiting = np.array(
            [row for row in waiting if _is_open(criteria, tallies, int(row))], dtype=np.intp
        )
        if not len(waiting):
            break
        first = last
    return [
        [_verdict(each, tallies[each.id], row, undecided=row in waiting) for each in criteria]
        for row in range(answers)
    ]


def _verdict(criterion: MeasuredCriterion, tally: _Tally, row: int, *, undecided: bool) -> Verdict:
    if not tally.finite[row] or not tally.tried[row]:
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.NOT_FINITE, ZERO, criterion.points)
    earned = next(
        (
            column
            for column, level in enumerate(criterion.levels)
            if _is_cleared(level, _compute_share(tally, row, column))
        ),
        None,
    )
    credit = ZERO if earned is None else criterion.levels[earned].credit
    # The evidence speaks of the best level: that is what the student wants to reach.
    evidence = _evidence(criterion.levels[0], tally, row)
    outcome, reason = _outcome(credit, evidence)
    if undecided and _find_open_level(criterion, tally, row) is not None:
        reason = Reason.UNDECIDED
    return Verdict(criterion.id, outcome, reason, credit, criterion.points, evidence)


def _outcome(credit: Decimal, evidence: Evidence) -> tuple[Outcome, Reason]:
    if credit == ONE:
        return Outcome.MET, Reason.HOLDS
    if credit > ZERO:
        return Outcome.PARTLY_MET, Reason.LOWER_LEVEL
    if evidence.share is not None and evidence.share >= 0.5:
        return Outcome.NOT_MET, Reason.TOO_FEW_KEY_SETS
    return Outcome.NOT_MET, Reason.OUTSIDE_TOLERANCE


def _evidence(level: Level, tally: _Tally, row: int) -> Evidence:
    measured = to_nine_digits(float(tally.median[row]))
    is_floor = level.at_least is not None
    if level.share is None:
        return Evidence(measured, level.bound, is_floor)
    share = _compute_share(tally, row, 0)
    low, high = share.interval.low, share.interval.high
    return Evidence(
        measured,
        level.bound,
        is_floor,
        share=to_nine_digits(share.value),
        share_needed=level.share,
        interval=Interval(to_nine_digits(low), to_nine_digits(high)),
        key_sets=share.tried,
        drawn=int(tally.drawn[row]),
    )


Array = NDArray[Any]


@dataclass(slots=True)
class _Tally:
    """For one criterion and every answer: how many key sets kept each level's bound."""

    passed: NDArray[np.intp]
    tried: NDArray[np.intp]
    drawn: NDArray[np.intp]
    median: Array
    finite: NDArray[np.bool_]

    @classmethod
    def empty(cls, answers: int, levels: int) -> _Tally:
        """Nothing counted yet."""
        return cls(
            np.zeros((answers, levels), dtype=np.intp),
            np.zeros(answers, dtype=np.intp),
            np.zeros(answers, dtype=np.intp),
            np.zeros(answers),
            np.ones(answers, dtype=bool),
        )


def _count_key_sets(
    tally: _Tally,
    criterion: MeasuredCriterion,
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


def _compute_share(tally: _Tally, row: int, column: int) -> Share:
    """The share of key sets on which an answer kept one level's bound."""
    return Share(int(tally.passed[row, column]), int(tally.tried[row]))


def _is_cleared(level: Level, share: Share) -> bool:
    """Whether a level is reached: on every key set, or on as many as it asks for."""
    if level.share is None:
        return share.passed == share.tried > 0
    return share.clears(level.share)


def _is_undecided(level: Level, share: Share) -> bool:
    if level.share is None:
        return False
    return not share.clears(level.share) and not share.misses(level.share)


def _is_open(criteria: Sequence[MeasuredCriterion], tallies: dict[str, _Tally], row: int) -> bool:
    """Whether further key sets could still change a verdict."""
    return any(_find_open_level(each, tallies[each.id], row) is not None for each in criteria)


def _find_open_level(criterion: MeasuredCriterion, tally: _Tally, row: int) -> int | None:
    """The best level that is neither cleared nor missed, unless a better one is cleared."""
    for column, level in enumerate(criterion.levels):
        share = _compute_share(tally, row, column)
        if _is_cleared(level, share):
            return None
        if _is_undecided(level, share):
            return column
    return None
