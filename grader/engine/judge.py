"""One question's judge: answers in, judgements out, one or thousands at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Outcome, Reason, Score, Verdict, combine
from grader.engine.criteria import Ground, judge_measured, judge_predicted
from grader.engine.misconceptions import Recognised, recognise
from grader.engine.noise import NoiseBank
from grader.engine.observe import set_up, with_fixed
from grader.engine.question import Chosen, Measured, Outside, Predicted, Question, Reviewed
from grader.engine.streams import question_key
from grader.engine.variants import Variant, draw_variant, stack_variants
from grader.errors import FormulaError
from grader.formula.evaluate import Environment, evaluate_finite
from grader.formula.read import Formula
from grader.reading.answer import (
    LADDER,
    Answer,
    Choice,
    ExternalScore,
    Numbers,
    Text,
    evaluate_formula,
)
from grader.reading.fields import ArrayField

Array = NDArray[Any]

# So many answers share one product with the noise.
_AT_ONCE = 128

ONE, ZERO = Decimal(1), Decimal(0)


@dataclass(frozen=True, slots=True)
class UsedAnswer:
    """The earlier answer that a part builds on: the student's own, or the reference."""

    arrays: Mapping[str, Array]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Submission:
    """An answer that was read, with the variant it answers."""

    variant: Variant
    answer: Answer
    used: UsedAnswer | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a submission came out."""

    verdicts: tuple[Verdict, ...]
    misconceptions: tuple[Recognised, ...] = ()

    @property
    def score(self) -> Score:
        """What the verdicts add up to."""
        return combine(self.verdicts)

    def verdict(self, criterion: str) -> Verdict:
        """The verdict on one criterion; KeyError where there is none."""
        for verdict in self.verdicts:
            if verdict.criterion == criterion:
                return verdict
        raise KeyError(criterion)


@dataclass(frozen=True, slots=True)
class _Row:
    """One thing to judge: arrays on one variant, at one size of constants declared large.

    On fresh variants the same formula is judged once, however many students sent it.
    """

    submissions: tuple[int, ...]
    variant: Variant
    arrays: Mapping[str, Array]
    reason: Reason | None
    """What it means if this row fails and the first one does not."""


@dataclass(slots=True)
class Judge:
    """Judges the answers to one question in one course run."""

    question: Question
    secret: bytes
    bank: NoiseBank = field(default_factory=NoiseBank)
    _fresh: tuple[Variant, ...] | None = None
    _earlier: Judge | None = None
    ground: Ground = field(init=False)
    """Where answers are judged."""

    def __post_init__(self) -> None:
        question = self.question
        key = question_key(self.secret, question=question.id, revision=question.revision)
        self.ground = Ground(key, self.bank)

    def variant(self, name: str) -> Variant:
        """The variant of this name; parts that build on each other share it."""
        question = self.question
        source = question.uses.question if question.uses else question
        key = question_key(self.secret, question=source.id, revision=source.revision)
        return draw_variant(question.draws, key=key, variant=name)

    def fresh_variants(self) -> tuple[Variant, ...]:
        """The variants that formulas are tried on beside the student's own."""
        if self._fresh is None:
            count = self.question.fresh_variants if self.question.draws else 0
            # A student's name never has a slash, so that no student gets one of these.
            self._fresh = tuple(self.variant(f"fresh/{number}") for number in range(count))
        return self._fresh

    def used(self, variant: Variant, earlier: Answer | None) -> UsedAnswer | None:
        """What a part builds on: the student's earlier answer if it earned it, else the reference.

        None where the part builds on nothing.
        """
        uses = self.question.uses
        if uses is None:
            return None
        if earlier is not None:
            self._earlier = self._earlier or Judge(uses.question, self.secret, self.bank)
            (judgement,) = self._earlier.judge([Submission(variant, earlier)], recognising=False)
            if judgement.verdict(uses.criterion).credit == ONE:
                return UsedAnswer(_own_arrays(earlier, variant, uses.reference), is_own=True)
        drawn = stack_variants([variant])
        reference = {
            name: evaluate_finite(node, drawn)[:, 0] for name, node in uses.reference.items()
        }
        return UsedAnswer({name: array[0] for name, array in reference.items()}, is_own=False)

    def judge(
        self, submissions: Sequence[Submission], *, recognising: bool = True
    ) -> list[Judgement]:
        """Judge submissions, all at once; the verdicts are those that each would get alone."""
        measured = self._judge_measured(submissions)
        predicted = self._judge_predicted(submissions)
        judgements = []
        for number, submission in enumerate(submissions):
            known = {**measured[number], **predicted[number]}
            verdicts = tuple(
                known[each.id]
                if isinstance(each, Measured | Predicted)
                else _judge_other(each, submission.answer)
                for each in self.question.criteria
            )
            judgements.append(Judgement(_with_needs(self.question, verdicts)))
        if recognising:
            return [
                self._with_misconceptions(submission, judgement)
                for submission, judgement in zip(submissions, judgements, strict=True)
            ]
        return judgements

    def environment(self, submission: Submission) -> Environment:
        """A single submission on its variant, with constants declared large at their least."""
        return set_up([submission.variant], _placed(submission, submission.variant, LADDER[0]))

    def _with_misconceptions(self, submission: Submission, judgement: Judgement) -> Judgement:
        if not self.question.misconceptions:
            return judgement
        missed = {
            verdict.criterion
            for verdict in judgement.verdicts
            if verdict.outcome in (Outcome.NOT_MET, Outcome.PARTLY_MET)
            and verdict.reason not in (Reason.NOT_GENERAL, Reason.NOT_SENT)
        }
        if not missed:
            return judgement
        environment = self.environment(submission)
        return replace(
            judgement,
            misconceptions=recognise(self.question, environment, self.ground, missed),
        )

    def _judge_measured(self, submissions: Sequence[Submission]) -> list[dict[str, Verdict]]:
        criteria = [each for each in self.question.criteria if isinstance(each, Measured)]
        if not criteria:
            return [{} for _ in submissions]
        rows = self._rows(submissions)
        results: list[dict[str, Verdict]] = [{} for _ in submissions]
        for chunk in self._chunks(rows):
            environment = with_fixed(
                self.question,
                _environment(chunk),
                [each.measure for each in criteria],
                [row.variant for row in chunk],
            )
            lines = judge_measured(self.question, criteria, environment, self.ground)
            for row, line in zip(chunk, lines, strict=True):
                for number in row.submissions:
                    _take_worst(results[number], line, row.reason)
        return results

    def _rows(self, submissions: Sequence[Submission]) -> list[_Row]:
        """Every submission on its own variant and, where all is formula, on fresh ones."""
        rows = []
        senders: dict[tuple[str, ...], list[int]] = {}
        for number, submission in enumerate(submissions):
            formulas = self._formulas(submission)
            for size in _sizes(formulas):
                arrays = _placed(submission, submission.variant, size)
                reason = None if size == LADDER[0] else Reason.NOT_FOR_EVERY_SIZE
                rows.append(_Row((number,), submission.variant, arrays, reason))
            if formulas:
                senders.setdefault(tuple(each.text for each in formulas), []).append(number)
        for numbers in senders.values():
            submission = submissions[numbers[0]]
            rows.extend(
                _Row(
                    tuple(numbers), variant, _placed(submission, variant, size), Reason.NOT_GENERAL
                )
                for variant in self.fresh_variants()
                for size in _sizes(self._formulas(submission))
            )
        return rows

    def _formulas(self, submission: Submission) -> list[Formula]:
        """The formulas of all arrays; none where one of the arrays is numbers."""
        values = [
            submission.answer.values.get(field.name)
            for field in self.question.fields
            if isinstance(field, ArrayField)
        ]
        formulas = [value for value in values if isinstance(value, Formula)]
        return formulas if len(formulas) == len(values) else []

    def _chunks(self, rows: Sequence[_Row]) -> list[Sequence[_Row]]:
        """Rows in portions whose products with the noise fit into memory together."""
        return [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]

    def _judge_predicted(self, submissions: Sequence[Submission]) -> list[dict[str, Verdict]]:
        results: list[dict[str, Verdict]] = [{} for _ in submissions]
        criteria = [each for each in self.question.criteria if isinstance(each, Predicted)]
        if not criteria:
            return results
        rows = [
            _Row((number,), each.variant, _placed(each, each.variant, LADDER[0]), None)
            for number, each in enumerate(submissions)
        ]
        for chunk in self._chunks(rows):
            environment = _environment(chunk)
            lines = judge_predicted(self.question, criteria, environment, self.ground)
            for row, line in zip(chunk, lines, strict=True):
                results[row.submissions[0]] = {verdict.criterion: verdict for verdict in line}
        return results


def _sizes(formulas: Sequence[Formula]) -> tuple[float, ...]:
    """The sizes to try: a ladder where a constant is declared large."""
    return LADDER if any(formula.large for formula in formulas) else LADDER[:1]


def _placed(submission: Submission, variant: Variant, size: float) -> dict[str, Array]:
    """The numbers of a submission on a variant; a formula that is not finite there gives NaN."""
    arrays: dict[str, Array] = {}
    if submission.used is not None:
        arrays |= submission.used.arrays
    formulas = {}
    for name, value in submission.answer.values.items():
        if isinstance(value, Numbers):
            arrays[name] = value.array
        elif isinstance(value, Formula):
            formulas[name] = value
    if formulas:
        drawn = stack_variants([variant])
        for name, formula in formulas.items():
            arrays[name] = _evaluated(formula, drawn, size)
    return {name: array[None] for name, array in arrays.items()}


def _evaluated(formula: Formula, drawn: Environment, size: float) -> Array:
    try:
        return np.asarray(evaluate_formula(formula, drawn, large=size)[0])
    except FormulaError:
        return np.full(formula.shape.axes, np.nan)


def _own_arrays(answer: Answer, variant: Variant, names: Mapping[str, object]) -> dict[str, Array]:
    placed = _placed(Submission(variant, answer), variant, LADDER[0])
    return {name: placed[name][0] for name in names}


def _environment(rows: Sequence[_Row]) -> Environment:
    return set_up([row.variant for row in rows], _stacked([row.arrays for row in rows]))


def _stacked(lines: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    if len(lines) == 1:
        return dict(lines[0])
    return {name: np.concatenate([line[name] for line in lines]) for name in lines[0]}


def _take_worst(known: dict[str, Verdict], line: list[Verdict], reason: Reason | None) -> None:
    for verdict in line:
        before = known.get(verdict.criterion)
        if before is None:
            known[verdict.criterion] = verdict
        elif verdict.credit < before.credit:
            known[verdict.criterion] = replace(
                verdict,
                outcome=Outcome.PARTLY_MET if verdict.credit else Outcome.NOT_MET,
                reason=reason or verdict.reason,
            )


def _judge_other(
    criterion: Chosen | Reviewed | Outside | Measured | Predicted, answer: Answer
) -> Verdict:
    value = answer.values.get(criterion.id)
    match criterion:
        case Chosen():
            assert isinstance(value, Choice), "a choice was read"
            is_right = value.options == criterion.correct
            return Verdict(
                criterion.id,
                Outcome.MET if is_right else Outcome.NOT_MET,
                Reason.HOLDS if is_right else Reason.WRONG_CHOICE,
                ONE if is_right else ZERO,
                criterion.points,
            )
        case Reviewed():
            reason = Reason.AWAITS_REVIEW if isinstance(value, Text) else Reason.NOT_SENT
            return Verdict(criterion.id, Outcome.PENDING, reason, ZERO, criterion.points)
        case Outside():
            assert isinstance(value, ExternalScore), "a score was read"
            credit = value.points / criterion.points
            outcome = Outcome.MET if credit == 1 else Outcome.PARTLY_MET
            return Verdict(
                criterion.id,
                outcome if credit else Outcome.NOT_MET,
                Reason.SCORED_OUTSIDE,
                credit,
                criterion.points,
            )
        case Measured() | Predicted():
            raise AssertionError("judged by the engine before")
        case _:
            assert_never(criterion)


def _with_needs(question: Question, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Take the credit of criteria whose condition, another criterion, earned none."""
    credits = {verdict.criterion: verdict.credit for verdict in verdicts}
    needs = {criterion.id: criterion.needs for criterion in question.criteria}
    result = []
    for verdict in verdicts:
        needed = needs[verdict.criterion]
        if needed is not None and not credits[needed] and verdict.credit:
            verdict = replace(
                verdict, outcome=Outcome.NOT_MET, reason=Reason.NEEDS_OTHER, credit=ZERO
            )
        result.append(verdict)
    return tuple(result)
