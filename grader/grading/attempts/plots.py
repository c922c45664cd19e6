"""Pictures of a stored attempt, from the practice key sets only."""

from __future__ import annotations

from grader.engine.judge.cases import Submission
from grader.engine.random.variants import stack_variants
from grader.errors import StudentError
from grader.feedback.plots import Picture, make_pictures
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.serialize import decode_judgement
from grader.reading.answer import read_answer
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
    own = context.variant_answered(session, attempt, rubric)
    judge = context.judge(session, run_id=attempt.run_id, rubric=rubric)
    drawn = stack_variants([own])
    try:
        answer = read_answer(attempt.answer, rubric.question.fields, drawn)
        earlier = None
        if rubric.earlier is not None and attempt.uses_attempt_id is not None:
            used = find_judged(session, attempt_id=attempt.uses_attempt_id)
            if used is not None:
                earlier = read_answer(used[0].answer, rubric.earlier.question.fields, drawn)
    except StudentError:
        # The question asks for something else since.
        return []
    submission = Submission(own, answer, judge.used(own, earlier))
    return make_pictures(judge, submission, revealing=decode_judgement(judgement).is_solved)
