"""One question's judge: answers in, judgements out, one or thousands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from grader.domain.verdicts import Outcome, Reason, Score, Verdict, combine
from grader.engine.judge.cases import (
    JudgeCase,
    Submission,
    UsedAnswer,
    compute_arrays,
    compute_used_arrays,
    list_cases,
    stack_cases,
)
from grader.engine.judge.direct import apply_needs, judge_directly
from grader.engine.judge.measured import judge_measured
from grader.engine.judge.misconceptions import RecognisedMisconception, find_misconceptions
from grader.engine.judge.predicted import judge_predicted
from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import KeySource
from grader.engine.random.variants import Variant, draw_variant, stack_variants
from grader.engine.sample.context import SamplingContext
from grader.engine.sample.observe import add_fixed_values, build_environment
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.reading.answer import Answer
from grader.reading.formulas import LARGE_VALUES

# So many answers share one product with the noise.
_BATCH_SIZE = 128

ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a submission came out."""

    verdicts: tuple[Verdict, ...]
    misconceptions: tuple[RecognisedMisconception, ...] = ()

    @property
    def score(self) -> Score:
        """What the verdicts add up to."""
        return combine(self.verdicts)

    @property
    def is_solved(self) -> bool:
        """Whether everything that needs no person came out right."""
        return self.score.awarded == self.score.automatic

    def verdict(self, criterion: str) -> Verdict:
        """The verdict on one criterion; KeyError where there is none."""
        for verdict in self.verdicts:
            if verdict.criterion == criterion:
                return verdict
        raise KeyError(criterion)


@dataclass(slots=True)
class Judge:
    """Judges the answers to one question in one course run."""

    question: Question
    keys: KeySource
    bank: NoiseBank = field(default_factory=NoiseBank)
    ground: SamplingContext = field(init=False)
    _fresh: tuple[Variant, ...] | None = None
    _earlier: Judge | None = None

    def __post_init__(self) -> None:
        question = self.question
        self.ground = SamplingContext(self.keys.of(question.id, question.revision), self.bank)

    def variant(self, name: str) -> Variant:
        """The variant of this name; parts that build on each other share it."""
        question = self.question
        source = question.uses.question if question.uses else question
        key = self.keys.of(source.id, source.revision)
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
            self._earlier = self._earlier or Judge(uses.question, self.keys, self.bank)
            (judgement,) = self._earlier.judge([Submission(variant, earlier)], recognising=False)
            if judgement.verdict(uses.criterion).credit == ONE:
                return UsedAnswer(
                    compute_used_arrays(earlier, variant, uses.reference), is_own=True
                )
        drawn = stack_variants([variant])
        reference = {
            name: evaluate_finite(node, drawn)[0, 0] for name, node in uses.reference.items()
        }
        return UsedAnswer(reference, is_own=False)

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
                if isinstance(each, MeasuredCriterion | PredictedCriterion)
                else judge_directly(each, submission.answer)
                for each in self.question.criteria
            )
            judgements.append(Judgement(apply_needs(self.question, verdicts)))
        if recognising:
            return [
                self._with_misconceptions(submission, judgement)
                for submission, judgement in zip(submissions, judgements, strict=True)
            ]
        return judgements

    def environment(self, submission: Submission) -> Environment:
        """A single submission on its variant, with constants declared large at their least."""
        return build_environment(
            [submission.variant], compute_arrays(submission, submission.variant, LARGE_VALUES[0])
        )

    def _with_misconceptions(self, submission: Submission, judgement: Judgement) -> Judgement:
        if not self.question.misconceptions:
            return judgement
        missed = {
            verdict.criterion
            for verdict in judgement.verdicts
            if verdict.outcome in (Outcome.NOT_MET, Outcome.PARTLY_MET)
            and verdict.reason not in (Reason.NOT_GENERAL, Reason.NOT_FOR_EVERY_SIZE)
        }
        if not missed:
            return judgement
        environment = self.environment(submission)
        return replace(
            judgement,
            misconceptions=find_misconceptions(self.question, environment, self.ground, missed),
        )

    def _judge_measured(self, submissions: Sequence[Submission]) -> list[dict[str, Verdict]]:
        criteria = [each for each in self.question.criteria if isinstance(each, MeasuredCriterion)]
        if not criteria:
            return [{} for _ in submissions]
        rows = list_cases(self.question, submissions, self.fresh_variants())
        results: list[dict[str, Verdict]] = [{} for _ in submissions]
        for chunk in self._chunks(rows):
            environment = add_fixed_values(
                self.question,
                stack_cases(chunk),
                [each.measure for each in criteria],
                [row.variant for row in chunk],
            )
            lines = judge_measured(self.question, criteria, environment, self.ground)
            for row, line in zip(chunk, lines, strict=True):
                for number in row.submissions:
                    _keep_worst(results[number], _select_counted(row, line), row.reason)
        return results

    def _chunks(self, rows: Sequence[JudgeCase]) -> list[Sequence[JudgeCase]]:
        """Rows in portions whose products with the noise fit into memory together."""
        return [rows[start : start + _BATCH_SIZE] for start in range(0, len(rows), _BATCH_SIZE)]

    def _judge_predicted(self, submissions: Sequence[Submission]) -> list[dict[str, Verdict]]:
        results: list[dict[str, Verdict]] = [{} for _ in submissions]
        criteria = [each for each in self.question.criteria if isinstance(each, PredictedCriterion)]
        if not criteria:
            return results
        rows = [
            JudgeCase((number,), each.variant, compute_arrays(each, each.variant, LARGE_VALUES[0]))
            for number, each in enumerate(submissions)
        ]
        for chunk in self._chunks(rows):
            environment = stack_cases(chunk)
            lines = judge_predicted(self.question, criteria, environment, self.ground)
            for row, line in zip(chunk, lines, strict=True):
                results[row.submissions[0]] = {verdict.criterion: verdict for verdict in line}
        return results


def _select_counted(row: JudgeCase, line: list[Verdict]) -> list[Verdict]:
    if row.criteria is None:
        return line
    return [verdict for verdict in line if verdict.criterion in row.criteria]


def _keep_worst(known: dict[str, Verdict], line: list[Verdict], reason: Reason | None) -> None:
    """Keep the worse of two verdicts; `reason` says what it means that a later row is worse."""
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
