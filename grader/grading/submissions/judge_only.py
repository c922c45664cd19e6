"""Judging without storing: any answer for any variant, for staff and their programs."""

from __future__ import annotations

from typing import Any

from grader.engine.judge.cases import Submission
from grader.engine.random.variants import stack_variants
from grader.feedback.receipt import EarlierAnswer
from grader.feedback.report import Report, compose_report
from grader.grading.context import GradingContext
from grader.grading.serialize import decode_variant
from grader.reading.answer import read_answer
from grader.store.database import Session
from grader.store.queries.attempts import find_variants


def judge_without_storing(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    question: str,
    variant: str,
    sent: Any,
    uses: Any | None = None,
) -> Report:
    """Judge an answer as it would be judged for this variant; nothing is stored.

    Raises
    ------
    NotFound
        Where the course run has no such question.
    AnswerRefused
        Where the answer, or the earlier one, cannot be read.
    """
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    rubric = published.rubric(question)
    judge = context.judge(session, run_id=run_id, rubric=rubric)
    source = rubric.question.uses.question if rubric.question.uses else rubric.question
    key = (variant, source.id, source.revision)
    shown = find_variants(session, wanted=[key]).get(key)
    # What was shown in another course run is none of this one's business.
    is_ours = shown is not None and shown.run_id == run_id
    drawn = decode_variant(variant, shown.drawn) if shown and is_ours else judge.variant(variant)
    stacked = stack_variants([drawn])
    answer = read_answer(sent, rubric.question.fields, stacked)
    earlier, before = None, None
    if rubric.earlier is not None:
        before = EarlierAnswer(rubric.earlier.version, uses)
        if uses is not None:
            earlier = read_answer(uses, rubric.earlier.question.fields, stacked)
    submission = Submission(drawn, answer, judge.used(drawn, earlier))
    (judgement,) = judge.judge([submission])
    return compose_report(
        judge, submission, judgement, sent=sent, rubric_version=rubric.version, earlier=before
    )
