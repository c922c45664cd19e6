"""Criteria → verdicts, for many answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.confidence import Share
from grader.engine.keysets import GRADING, Source
from grader.engine.noise import NoiseBank
from grader.engine.observe import observe, prepare, select_rows
from grader.engine.question import Level, Measured, Predicted, Question
from grader.formula.evaluate import Environment

Array = NDArray[Any]

#: Bounds are kept with this relative slack, so that the last bits of a matrix product, which
#: differ between machines and batch sizes, never decide.
SLACK = 1e-9
#: Answers beyond this are shrunk where they overflow; the softmax is long saturated there.
LARGEST = 1e100

# So many numbers are worked on at a time: more would leave the cache, fewer would waste calls.
_NUMBERS_AT_ONCE = 1 << 19

ONE, ZERO = Decimal(1), Decimal(0)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where answers are judged: the question's key and the noise."""

    key: bytes
    bank: NoiseBank
    purpose: str = GRADING

    def source(self, first: int, last: int) -> Source:
        """A stretch of key sets."""
        return Source(self.bank, self.key, self.purpose, first, last)


@dataclass(slots=True)
class _Tally:
    """For one criterion and every answer: how many key sets kept each level's bound."""

    passed: NDArray[np.intp]
    tried: NDArray[np.intp]
    median: Array
    finite: NDArray[np.bool_]

    @classmethod
    def empty(cls, answers: int, levels: int) -> _Tally:
        """Nothing counted yet."""
        return cls(
            np.zeros((answers, levels), dtype=np.intp),
            np.zeros(answers, dtype=np.intp),
            np.zeros(answers),
            np.ones(answers, dtype=bool),
        )


def judge_measured(
    question: Question, criteria: Sequence[Measured], environment: Environment, ground: Ground
) -> list[list[Verdict]]:
    """Judge what answers do; for every answer one verdict for each criterion.

    An answer so large that it overflows is judged again at a size that does not: the weights
    are the same, because the softmax is saturated long before.
    """
    answers = _count_answers(environment)
    verdicts = _judge(question, criteria, environment, ground, answers)
    unfinished = [
        row for row, line in enumerate(verdicts) if any(_is_not_finite(each) for each in line)
    ]
    if unfinished:
        rows = np.array(unfinished)
        smaller = shrink(select_rows(environment, rows), question)
        again = _judge(question, criteria, smaller, ground, len(rows))
        for row, line in zip(unfinished, again, strict=True):
            verdicts[row] = line
    return verdicts


def _is_not_finite(verdict: Verdict) -> bool:
    return verdict.reason is Reason.NOT_FINITE


def _count_answers(environment: Environment) -> int:
    lengths = [len(value) for value in environment.values.values() if isinstance(value, np.ndarray)]
    return max(lengths, default=1)


def shrink(environment: Environment, question: Question) -> Environment:
    """Divide arrays beyond `LARGEST` by a power of two, which changes no digit."""
    values = dict(environment.values)
    for field in question.fields:
        value = values.get(field.name)
        if isinstance(value, np.ndarray):
            axes = tuple(range(1, value.ndim))
            largest = np.abs(value).max(axis=axes, keepdims=True, initial=1.0)
            halvings = np.nan_to_num(np.ceil(np.log2(np.maximum(largest / LARGEST, 1.0))))
            values[field.name] = np.ldexp(value, -halvings.astype(np.intc))
    return Environment(values, environment.indices)


def _judge(
    question: Question,
    criteria: Sequence[Measured],
    environment: Environment,
    ground: Ground,
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
            rows = prepare(question, rows, nodes, source)
        for part in _parts(len(waiting), (last - first) * _width(question)):
            few = rows if len(waiting) == 1 else select_rows(rows, part)
            seen = observe(question, few, nodes, source)
            for criterion, measured in zip(criteria, seen.values, strict=True):
                _count(tallies[criterion.id], criterion, measured, seen.kept, waiting[part])
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


def _parts(answers: int, numbers: int) -> list[slice]:
    """Cut answers into parts whose arrays stay within the cache."""
    at_once = max(1, _NUMBERS_AT_ONCE // max(numbers, 1))
    return [slice(start, start + at_once) for start in range(0, answers, at_once)]


def _width(question: Question) -> int:
    """How many numbers a key set holds for one answer, at the most."""
    return max((node.shape.size for node in question.compute.values()), default=1)


def _count(
    tally: _Tally,
    criterion: Measured,
    measured: Array,
    kept: Array | None,
    rows: NDArray[np.intp],
) -> None:
    """Add what was measured on further key sets to a criterion's tally."""
    if len(measured) != len(rows):
        measured = np.broadcast_to(measured, (len(rows), measured.shape[1]))
    counted = None if kept is None or measured.shape[1] == 1 else kept
    is_first = not tally.tried[rows[0]]
    if is_first:
        tally.median[rows] = _median(measured, counted)
    for column, level in enumerate(criterion.levels):
        holds = _holds(level, measured)
        if counted is not None:
            holds = holds & counted
        tally.passed[rows, column] += holds.sum(axis=1)
    tally.tried[rows] += measured.shape[1] if counted is None else counted.sum(axis=1)
    tally.finite[rows] &= np.isfinite(measured.sum(axis=1))


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


def _share(tally: _Tally, row: int, column: int) -> Share:
    return Share(int(tally.passed[row, column]), int(tally.tried[row]))


def _clears(level: Level, share: Share) -> bool:
    if level.share is None:
        return share.passed == share.tried > 0
    return share.clears(level.share)


def _straddles(level: Level, share: Share) -> bool:
    if level.share is None:
        return False
    return not share.clears(level.share) and not share.misses(level.share)


def _is_open(criteria: Sequence[Measured], tallies: dict[str, _Tally], row: int) -> bool:
    """Whether further key sets could still change a verdict."""
    return any(_open_level(each, tallies[each.id], row) is not None for each in criteria)


def _open_level(criterion: Measured, tally: _Tally, row: int) -> int | None:
    """The best level that is neither cleared nor missed, unless a better one is cleared."""
    for column, level in enumerate(criterion.levels):
        share = _share(tally, row, column)
        if _clears(level, share):
            return None
        if _straddles(level, share):
            return column
    return None


def _verdict(criterion: Measured, tally: _Tally, row: int, *, undecided: bool) -> Verdict:
    if not tally.finite[row] or not tally.tried[row]:
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.NOT_FINITE, ZERO, criterion.points)
    earned = next(
        (
            column
            for column, level in enumerate(criterion.levels)
            if _clears(level, _share(tally, row, column))
        ),
        None,
    )
    credit = ZERO if earned is None else criterion.levels[earned].credit
    # The evidence speaks of the best level: that is what the student wants to reach.
    evidence = _evidence(criterion.levels[0], _share(tally, row, 0), float(tally.median[row]))
    outcome, reason = _outcome(credit, evidence)
    if undecided and _open_level(criterion, tally, row) is not None:
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


def _evidence(level: Level, share: Share, median: float) -> Evidence:
    is_sampled = level.share is not None
    return Evidence(
        measured=figure(median),
        needed=level.bound,
        at_least=level.at_least is not None,
        share=figure(share.value) if is_sampled else None,
        share_needed=level.share,
        interval=(
            Interval(figure(share.interval.low), figure(share.interval.high))
            if is_sampled
            else None
        ),
        key_sets=share.tried if is_sampled else None,
    )


def figure(value: float) -> float:
    """A number to nine digits: as many as are the same on every machine."""
    return float(f"{value:.9g}")


def judge_predicted(
    question: Question,
    criteria: Sequence[Predicted],
    environment: Environment,
    ground: Ground,
) -> list[list[Verdict]]:
    """Compare predicted numbers with what is measured, at every scale of what is used.

    For every answer one verdict for each criterion.
    """
    sets = question.key_sets.counts[0] if question.key_sets else 1
    lines = []
    answers = _count_answers(environment)
    for part in _parts(answers, sets * _width(question)):
        few = environment if answers == 1 else select_rows(environment, part)
        measured = _expected(question, criteria, few, ground)
        lines.extend(
            [
                _prediction(
                    criterion, _number(few, criterion.id, row), measured[criterion.id][:, row]
                )
                for criterion in criteria
            ]
            for row in range(_count_answers(few))
        )
    return lines


def _number(environment: Environment, name: str, row: int) -> float:
    numbers = environment.values[name]
    assert isinstance(numbers, np.ndarray), "a number is never sampled"
    return float(numbers[row, 0])


def _expected(
    question: Question,
    criteria: Sequence[Predicted],
    environment: Environment,
    ground: Ground,
) -> dict[str, Array]:
    """For every criterion what is measured, of shape (scales, answers)."""
    answers = _count_answers(environment)
    source = ground.source(0, question.key_sets.counts[0]) if question.key_sets else None
    found: dict[str, list[Array]] = {criterion.id: [] for criterion in criteria}
    for scale in sorted({scale for criterion in criteria for scale in criterion.scales}):
        wanted = [criterion for criterion in criteria if scale in criterion.scales]
        scaled = _scaled(question, environment, scale)
        seen = observe(question, scaled, [criterion.expected for criterion in wanted], source)
        for criterion, values in zip(wanted, seen.values, strict=True):
            found[criterion.id].append(np.broadcast_to(values[:, 0], (answers,)))
    return {name: np.stack(values) for name, values in found.items()}


def _scaled(question: Question, environment: Environment, scale: float) -> Environment:
    if question.uses is None or scale == 1.0:
        return environment
    values = dict(environment.values)
    for name in question.uses.reference:
        value = values[name]
        assert isinstance(value, np.ndarray), "an earlier answer is never sampled"
        values[name] = scale * value
    return Environment(values, environment.indices)


def _prediction(criterion: Predicted, predicted: float, spanned: Array) -> Verdict:
    low, high = float(spanned.min()), float(spanned.max())
    if not np.isfinite(spanned).all():
        return Verdict(criterion.id, Outcome.UNGRADABLE, Reason.NOT_FINITE, ZERO, criterion.points)
    reach = criterion.tolerance * (1 + SLACK)
    is_right = low - reach <= predicted <= high + reach
    return Verdict(
        criterion.id,
        Outcome.MET if is_right else Outcome.NOT_MET,
        Reason.HOLDS if is_right else Reason.OUTSIDE_TOLERANCE,
        ONE if is_right else ZERO,
        criterion.points,
        Evidence(
            measured=figure(predicted),
            needed=criterion.tolerance,
            expected=Interval(figure(low), figure(high)),
        ),
    )
