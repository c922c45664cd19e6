"""Pictures of a stored attempt, from the practice key sets only."""

from __future__ import annotations

from grader.errors import StudentError
from grader.feedback.plots import Picture, make_pictures
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.serialize import decode_judgement
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, find_judged


def draw_attempt_plots(
    session: Session,
    context: GradingContext,
    published: PublishedAssignment,
    attempt: AttemptLine,
    judgement: JudgementLine,
) -> list[Picture]:
    """What an attempt's answer does; empty where it cannot be read any more.

    Pictures that show what is asked for come only where everything is right.
    """
    rubric = published.rubric(attempt.question)
    if not rubric.question.plots:
        return []
    variant = context.variant_answered(session, attempt, rubric)
    judge = context.judge(session, run_id=attempt.run_id, rubric=rubric)
    used = attempt.uses_attempt_id and find_judged(session, attempt_id=attempt.uses_attempt_id)
    try:
        earlier = used[0].answer if used else None
        submission = judge.prepare(variant, attempt.answer, earlier=earlier, strict=True)
    except StudentError:
        # The question asks for something else since.
        return []
    return make_pictures(judge, submission, revealing=decode_judgement(judgement).is_solved)
