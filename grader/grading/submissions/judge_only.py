"""Judging without storing: any answer for any variant, for staff and their programs."""

from __future__ import annotations

from typing import Any

from grader.feedback.receipt import compose_receipt
from grader.feedback.report import Report, build_report
from grader.grading.context import GradingContext
from grader.grading.serialize import decode_variant
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
    rubric = context.in_force(session, run_id=run_id, assignment=assignment).rubric(question)
    judge = context.judge(session, run_id=run_id, rubric=rubric)
    source = rubric.question.source
    key = (variant, source.id, source.revision)
    shown = find_variants(session, wanted=[key]).get(key)
    # A variant of another course run must not show here.
    is_ours = shown is not None and shown.run_id == run_id
    drawn = decode_variant(variant, shown.drawn) if shown and is_ours else judge.variant(variant)
    submission = judge.prepare(drawn, sent, earlier=uses, strict=True)
    (judgement,) = judge.judge([submission])
    receipt = compose_receipt(judge, submission, judgement, versions=rubric.versions)
    return build_report(rubric.question, judgement, receipt, used=submission.used)
