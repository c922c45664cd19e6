"""What answers do → verdicts, for many answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.judge.tally import Tally, clears, count_key_sets, is_open, open_level, share_of
from grader.engine.question import Level, Measured, Question
from grader.engine.sample.context import Ground, count_answers, cut_into_parts, figure
from grader.engine.sample.observe import observe, prepare, select_rows
from grader.engine.sample.plans import saturating_fields
from grader.engine.sample.rescale import OVERFLOWING, SATURATED, shrink_answers
from grader.formula.eval.evaluate import Environment

ONE, ZERO = Decimal(1), Decimal(0)


def judge_measured(
    question: Question, criteria: Sequence[Measured], environment: Environment, ground: Ground
) -> list[list[Verdict]]:
    """Judge what answers do; for every answer one verdict for each criterion.

    What is too large to be computed with is judged at a smaller size.
    """
    answers = count_answers(environment)
    environment, shrunk = shrink_answers(environment, saturating_fields(question), SATURATED)
    verdicts = _judge(question, criteria, environment, ground, answers)
    for row in np.flatnonzero(shrunk).tolist():
        verdicts[row] = [_as_shrunk(verdict) for verdict in verdicts[row]]
    unfinished = [
        row for row, line in enumerate(verdicts) if any(_is_not_finite(each) for each in line)
    ]
    if unfinished:
        rows = np.array(unfinished)
        names = [field.name for field in question.fields]
        smaller, _ = shrink_answers(select_rows(environment, rows), names, OVERFLOWING)
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
    criteria: Sequence[Measured],
    environment: Environment,
    ground: Ground,
    answers: int,
) -> list[list[Verdict]]:
    counts = question.key_sets.counts if question.key_sets else (1,)
    nodes = [each.measure for each in criteria]
    tallies = {each.id: Tally.empty(answers, len(each.levels)) for each in criteria}
    waiting = np.arange(answers)
    first = 0
    for last in counts:
        rows = environment if len(waiting) == answers else select_rows(environment, waiting)
        source = ground.source(first, last) if question.key_sets else None
        if source is not None and len(waiting) > 1:
            rows = prepare(question, rows, nodes, source)
        for part in cut_into_parts(question, answers=len(waiting), key_sets=last - first):
            few = rows if len(waiting) == 1 else select_rows(rows, part)
            seen = observe(question, few, nodes, source)
            for criterion, measured in zip(criteria, seen.values, strict=True):
                count_key_sets(tallies[criterion.id], criterion, measured, seen.kept, waiting[part])
        waiting = np.array(
            [row for row in waiting if is_open(criteria, tallies, int(row))], dtype=np.intp
        )
        if not len(waiting):
            break
        first = last
    return [
        [_verdict(each, tallies[each.id], row, undecided=row in waiting) for each in criteria]
        for row in range(answers)
    ]


def _verdict(criterion: Measured, tally: Tally, row: int, *, undecided: bool) -> Verdict:
    if not tally.finite[row] or not tally.tried[row]:
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.NOT_FINITE, ZERO, criterion.points)
    earned = next(
        (
            column
            for column, level in enumerate(criterion.levels)
            if clears(level, share_of(tally, row, column))
        ),
        None,
    )
    credit = ZERO if earned is None else criterion.levels[earned].credit
    # The evidence speaks of the best level: that is what the student wants to reach.
    evidence = _evidence(criterion.levels[0], tally, row)
    outcome, reason = _outcome(credit, evidence)
    if undecided and open_level(criterion, tally, row) is not None:
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


def _evidence(level: Level, tally: Tally, row: int) -> Evidence:
    measured = figure(float(tally.median[row]))
    is_floor = level.at_least is not None
    if level.share is None:
        return Evidence(measured, level.bound, is_floor)
    share = share_of(tally, row, 0)
    low, high = share.interval.low, share.interval.high
    return Evidence(
        measured,
        level.bound,
        is_floor,
        share=figure(share.value),
        share_needed=level.share,
        interval=Interval(figure(low), figure(high)),
        key_sets=share.tried,
        drawn=int(tally.drawn[row]),
    )
