"""Attempts judged again, some at a time; nothing is stored, and no grade changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.errors import AnswerRefused
from grader.feedback.receipt import hash_verdicts
from grader.grading.context import GradingContext
from grader.grading.judgements import JUDGING_ERRORS, make_judgement_line
from grader.grading.serialize import decode_judgement
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import JudgementLine, find_attempts
from grader.store.queries.publications import get_publication
from grader.store.queries.regrades.judging import LeftOut, RegradeCase, find_cases
from grader.store.queries.regrades.records import RegradeLine


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """What came of some attempts: new judgements, and those that are left as they are."""

    judgements: Sequence[JudgementLine]
    left_out: Sequence[LeftOut]


def judge_again(
    session: Session,
    context: GradingContext,
    regrade: RegradeLine,
    *,
    attempt_ids: Iterable[str],
    at: datetime,
) -> JudgedAgain:
    """Judge attempts by the rubrics of a regrade's publication, all at once.

    One attempt that cannot be judged is left out, with the reason, and stops no other.
    """
    line = get_publication(session, publication_id=regrade.publication_id)
    published = context.published(session, line)
    by_question: dict[str, list[RegradeCase]] = defaultdict(list)
    for case in find_cases(session, attempt_ids=attempt_ids):
        by_question[case.attempt.question].append(case)
    judgements: list[JudgementLine] = []
    left_out: list[LeftOut] = []
    for question, cases in by_question.items():
        rubric = published.rubric(question)
        outcome = judge_cases(session, context, rubric, cases)
        left_out += outcome.left_out
        for each in outcome.judged:
            if _says_the_same(each, rubric):
                continue
            judgements.append(
                make_judgement_line(
                    outcome.judge,
                    each.submission,
                    each.judgement,
                    each.case.attempt,
                    rubric=rubric,
                    number=each.case.last_number + 1,
                    stored_at=each.case.stored_at,
                    judged_at=at,
                    key=context.signing_key,
                    regrade_id=regrade.id,
                )
            )
    return JudgedAgain(judgements, left_out)


class JudgedCase(NamedTuple):
    """An attempt, its answer as the rubric reads it, and how it comes out."""

    case: RegradeCase
    submission: Submission
    judgement: Judgement


class JudgedCases(NamedTuple):
    """What came of attempts at one question."""

    judge: Judge
    judged: Sequence[JudgedCase]
    left_out: Sequence[LeftOut]


def judge_cases(
    session: Session, context: GradingContext, rubric: Rubric, cases: Sequence[RegradeCase]
) -> JudgedCases:
    """Judge attempts at one question by any version of its rubric, published or not."""
    (run_id,) = {each.attempt.run_id for each in cases}
    judge = context.judge(session, run_id=run_id, rubric=rubric)
    batch = _Batch(session, context, rubric, judge)
    return JudgedCases(judge, list(batch.judge_all(cases)), batch.left_out)


@dataclass(slots=True)
class _Batch:
    """Attempts at one question that are judged together."""

    session: Session
    context: GradingContext
    rubric: Rubric
    judge: Judge
    left_out: list[LeftOut] = field(default_factory=list)

    def judge_all(self, cases: Sequence[RegradeCase]) -> Iterator[JudgedCase]:
        prepared = list(self._prepare(self._select_fitting(cases)))
        try:
            judgements = self.judge.judge([submission for _, submission in prepared])
        except JUDGING_ERRORS:
            # One of them spoils the others, so that each is judged by itself.
            for case, submission in prepared:
                yield from self._judge_alone(case, submission)
            return
        for (case, submission), judgement in zip(prepared, judgements, strict=True):
            yield JudgedCase(case, submission, judgement)

    def _select_fitting(self, cases: Sequence[RegradeCase]) -> list[RegradeCase]:
        """The attempts whose answers were given for the numbers that the rubric draws."""
        source = self.rubric.question.source
        wanted = (source.id, source.revision)
        drawn = {
            publication_id: self._find_draws(publication_id)
            for publication_id in {each.attempt.publication_id for each in cases}
        }
        fitting = []
        for case in cases:
            if drawn[case.attempt.publication_id] == wanted:
                fitting.append(case)
            else:
                text = "The question has other numbers since it was answered."
                self._leave_out(case, "question.drawn_anew", text)
        return fitting

    def _find_draws(self, publication_id: str) -> tuple[str, int]:
        """What the question's numbers were drawn by in a publication."""
        line = get_publication(self.session, publication_id=publication_id)
        published = self.context.published(self.session, line)
        source = published.rubric(self.rubric.form.id).question.source
        return source.id, source.revision

    def _prepare(self, cases: Sequence[RegradeCase]) -> Iterator[tuple[RegradeCase, Submission]]:
        """The answers as the rubric reads them, on the variants that they were given for."""
        attempts = [each.attempt for each in cases]
        variants = self.context.variants_answered(self.session, attempts, self.rubric)
        used_ids = {each.uses_attempt_id for each in attempts if each.uses_attempt_id}
        used = find_attempts(self.session, attempt_ids=used_ids) if used_ids else {}
        for case in cases:
            attempt = case.attempt
            earlier = used.get(attempt.uses_attempt_id or "")
            try:
                submission = self.judge.prepare(
                    variants[attempt.enrolment_id],
                    attempt.answer,
                    earlier=earlier.answer if earlier else None,
                )
            except AnswerRefused as refused:
                self._leave_out(case, "answer.unreadable", refused.message)
            except JUDGING_ERRORS as error:
                self._leave_out(case, "attempt.unjudgeable", _describe(error))
            else:
                yield case, submission

    def _judge_alone(self, case: RegradeCase, submission: Submission) -> Iterator[JudgedCase]:
        try:
            (judgement,) = self.judge.judge([submission])
        except JUDGING_ERRORS as error:
            self._leave_out(case, "attempt.unjudgeable", _describe(error))
        else:
            yield JudgedCase(case, submission, judgement)

    def _leave_out(self, case: RegradeCase, code: str, text: str) -> None:
        self.left_out.append(LeftOut(case.attempt.id, code, text))


def _says_the_same(judged: JudgedCase, rubric: Rubric) -> bool:
    """Whether a judgement comes to what is stored; figures may differ in their last digits."""
    stored = judged.case.judgement
    if stored.rubric_versions != rubric.versions:
        return False
    before = decode_judgement(stored)
    return (
        hash_verdicts(before.verdicts) == hash_verdicts(judged.judgement.verdicts)
        and before.misconceptions == judged.judgement.misconceptions
    )


def _describe(error: Exception) -> str:
    (reason, *_) = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {reason}"[:300]
