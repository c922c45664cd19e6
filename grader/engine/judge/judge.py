"""One question's judge: answers in, judgements out, one or thousands at a time.

What is sampled is judged in `measured` and `predicted`; the rest is decided here directly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, assert_never

from grader.domain.verdicts import Outcome, Reason, Score, Verdict, combine
from grader.engine.judge.cases import (
    JudgeCase,
    Submission,
    UsedAnswer,
    compute_typical_arrays,
    compute_used_arrays,
    list_cases,
)
from grader.engine.judge.misconceptions import (
    MissedAnswer,
    RecognisedMisconception,
    find_misconceptions,
)
from grader.engine.judge.trials import Finding, judge_cases, make_verdict
from grader.engine.question import (
    ChoiceCriterion,
    DirectCriterion,
    ExternalCriterion,
    Question,
    ReviewedCriterion,
)
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import KeySource
from grader.engine.random.variants import Variant, draw_variant, redraw_numbers
from grader.engine.sample.context import SamplingContext
from grader.engine.sample.observe import build_environment
from grader.errors import AnswerRefused, EarlierAnswerRefused
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.reading.answer import Answer, Choice, ExternalScore, Text, read_answer
from grader.reading.large import select_typical

# Maximum cases that share one product with the noise.
_BATCH_SIZE = 128

ONE, ZERO = Decimal(1), Decimal(0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a submission came out, and what the verdicts add up to."""

    verdicts: tuple[Verdict, ...]
    misconceptions: tuple[RecognisedMisconception, ...] = ()
    score: Score = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", combine(self.verdicts))

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
    context: SamplingContext = field(init=False)
    _fresh: tuple[Variant, ...] | None = None
    _earlier: Judge | None = None

    def __post_init__(self) -> None:
        question = self.question
        self.context = SamplingContext(self.keys.of(question.id, question.revision), self.bank)

    def variant(self, name: str) -> Variant:
        """The variant of this name; parts that build on each other share it."""
        source = self.question.source
        key = self.keys.of(source.id, source.revision)
        return draw_variant(self.question.draws, key=key, variant=name)

    def prepare(
        self, variant: Variant, sent: Any, *, earlier: Any | None = None, strict: bool = False
    ) -> Submission:
        """Read an answer for a variant, with the earlier answer that its question builds on.

        Parameters
        ----------
        sent
            The answer as it was sent, decoded.
        earlier
            What the student sent to the earlier question; None for the reference.
        strict
            Whether an earlier answer that cannot be read is an error. Otherwise the reference is
            used: the earlier question may ask for something else since.

        Raises
        ------
        AnswerRefused
            With every place that cannot be read.
        EarlierAnswerRefused
            With `strict`, where that is in the earlier answer.
        """
        answer = read_answer(sent, self.question.fields, variant.environment)
        uses = self.question.uses
        if uses is None:
            return Submission(variant, answer, sent=sent)
        read = None
        if earlier is not None:
            try:
                read = read_answer(earlier, uses.question.fields, variant.environment)
            except AnswerRefused as refused:
                if strict:
                    raise EarlierAnswerRefused(refused.errors) from None
        used = self._choose_used(variant, read)
        return Submission(variant, answer, used, sent, earlier)

    def _choose_used(self, variant: Variant, earlier: Answer | None) -> UsedAnswer:
        """The student's own earlier answer where it earned its use, else the reference."""
        uses = self.question.uses
        assert uses is not None, "the caller looked"
        if earlier is not None:
            self._earlier = self._earlier or Judge(uses.question, self.keys, self.bank)
            (judgement,) = self._earlier.judge([Submission(variant, earlier)], recognising=False)
            if judgement.verdict(uses.criterion).credit == ONE:
                return UsedAnswer(compute_used_arrays(earlier, variant, uses.reference), True)
        reference = {
            name: evaluate_finite(node, variant.environment)[0, 0]
            for name, node in uses.reference.items()
        }
        return UsedAnswer(reference, is_own=False)

    def judge(
        self, submissions: Sequence[Submission], *, recognising: bool = True
    ) -> list[Judgement]:
        """Judge submissions, all at once; the verdicts are those that each would get alone."""
        question = self.question
        lines = []
        for submission, found in zip(submissions, self._judge_sampled(submissions), strict=True):
            for each in question.direct:
                found[each.id] = judge_directly(each, submission.answer)
            verdicts = tuple(found[each.id] for each in question.criteria)
            lines.append(apply_needs(question, verdicts))
        shown = self._find_misconceptions(submissions, lines) if recognising else {}
        return [Judgement(verdicts, shown.get(number, ())) for number, verdicts in enumerate(lines)]

    def environment(self, submission: Submission) -> Environment:
        """A single submission on its variant, constants declared large at a typical size."""
        return build_environment([submission.variant], compute_typical_arrays(submission))

    def _find_misconceptions(
        self, submissions: Sequence[Submission], lines: Sequence[Sequence[Verdict]]
    ) -> dict[int, tuple[RecognisedMisconception, ...]]:
        """By the number of the submission, what those show that missed something."""
        if not self.question.misconceptions:
            return {}
        missed = {
            number: self._make_missed(submissions[number], verdicts)
            for number, verdicts in enumerate(lines)
            if any(map(_is_missed, verdicts))
        }
        if not missed:
            return {}
        found = find_misconceptions(self.question, list(missed.values()), self.context)
        return dict(zip(missed, found, strict=True))

    def _make_missed(self, submission: Submission, verdicts: Sequence[Verdict]) -> MissedAnswer:
        cases = self._list_cases([submission])
        typical = select_typical([each.sizes for each in cases if not each.trial])
        cases.sort(key=lambda each: (each.trial, each.sizes != typical))
        return MissedAnswer(
            cases,
            {each.criterion for each in verdicts if _is_missed(each)},
            {each.criterion: each.credit for each in verdicts},
            is_numbers=not submission.formulas,
        )

    def _list_cases(self, submissions: Sequence[Submission]) -> list[JudgeCase]:
        return list_cases(
            self.question, submissions, fresh=self._fresh_variants(), redraw=self._redraw
        )

    def _fresh_variants(self) -> tuple[Variant, ...]:
        """The variants that formulas are tried on beside the student's own."""
        if self._fresh is None:
            count = self.question.fresh_variants if self.question.draws else 0
            self._fresh = tuple(self.variant(name) for name in _list_fresh_names(count))
        return self._fresh

    def _redraw(self, variant: Variant) -> tuple[Variant, ...]:
        """The student's variant with other numbers, for formulas beside arrays of numbers."""
        source = self.question.source
        return redraw_numbers(
            self.question.draws,
            variant,
            key=self.keys.of(source.id, source.revision),
            names=_list_fresh_names(self.question.fresh_variants),
        )

    def _judge_sampled(self, submissions: Sequence[Submission]) -> list[dict[str, Verdict]]:
        """By submission and criterion the verdict on what is measured or predicted."""
        findings: list[dict[str, list[Finding]]] = [defaultdict(list) for _ in submissions]
        for batch in _split(self._list_cases(submissions)):
            for finding in judge_cases(self.question, batch, self.context):
                for number in finding.case.submissions:
                    findings[number][finding.criterion].append(finding)
        return [{name: make_verdict(each) for name, each in line.items()} for line in findings]


def _is_missed(verdict: Verdict) -> bool:
    """Whether a misconception may be the reason."""
    return verdict.outcome in (Outcome.NOT_MET, Outcome.PARTLY_MET) and verdict.reason not in (
        Reason.NOT_GENERAL,
        Reason.NOT_FOR_EVERY_SIZE,
    )


def _list_fresh_names(count: int) -> list[str]:
    # A student's name never has a slash, so that no student gets one of these.
    return [f"fresh/{number}" for number in range(count)]


def _split(cases: Sequence[JudgeCase]) -> Iterator[Sequence[JudgeCase]]:
    """Batches whose products with the noise fit into memory together."""
    for start in range(0, len(cases), _BATCH_SIZE):
        yield cases[start : start + _BATCH_SIZE]


def judge_directly(criterion: DirectCriterion, answer: Answer) -> Verdict:
    """Judge one criterion by what was sent alone."""
    value = answer.values.get(criterion.id)
    match criterion:
        case ChoiceCriterion():
            assert isinstance(value, Choice), "a choice was read"
            is_right = value.options == criterion.correct
            return Verdict(
                criterion.id,
                Outcome.MET if is_right else Outcome.NOT_MET,
                Reason.HOLDS if is_right else Reason.WRONG_CHOICE,
                ONE if is_right else ZERO,
                criterion.points,
            )
        case ReviewedCriterion():
            reason = Reason.AWAITS_REVIEW if isinstance(value, Text) else Reason.NOT_SENT
            return Verdict(criterion.id, Outcome.PENDING, reason, ZERO, criterion.points)
        case ExternalCriterion():
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
        case _:
            assert_never(criterion)


def apply_needs(question: Question, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Take the credit of criteria whose condition, another criterion, earned none."""
    if not question.needs:
        return verdicts
    credits = {verdict.criterion: verdict.credit for verdict in verdicts}
    result = []
    for verdict in verdicts:
        needed = question.needs.get(verdict.criterion)
        if needed is not None and not credits[needed] and verdict.credit:
            verdict = verdict._replace(
                outcome=Outcome.NOT_MET, reason=Reason.NEEDS_OTHER, credit=ZERO
            )
        result.append(verdict)
    return tuple(result)
