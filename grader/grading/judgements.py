"""A judgement as it is stored, with its signed receipt."""

from __future__ import annotations

from datetime import datetime

import orjson

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.draws import DrawFailed
from grader.errors import KeysetError
from grader.feedback.receipt import compose_receipt_fields
from grader.feedback.report import describe_used
from grader.grading.serialize import encode_judgement, hash_record
from grader.grading.signing import SigningKey, sign_receipt_fields
from grader.rubric.catalog import Rubric
from grader.store.queries.attempts import AttemptLine, JudgementLine
from grader.store.rows import make_id

#: What judging a stored answer raises where the answer and the rubric do not fit together.
JUDGING_ERRORS = (
    KeysetError, DrawFailed, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip


def make_judgement_line(
    judge: Judge,
    submission: Submission,
    judgement: Judgement,
    attempt: AttemptLine,
    *,
    rubric: Rubric,
    number: int,
    stored_at: datetime,
    judged_at: datetime,
    key: SigningKey,
    regrade_id: str | None = None,
) -> JudgementLine:
    """A judgement of an attempt that was stored at a time, or is about to be."""
    encoded = encode_judgement(judgement)
    receipt = compose_receipt_fields(
        judge,
        submission,
        judgement,
        versions=rubric.versions,
        answer_digest=attempt.answer_digest,
        attempt=attempt.id,
        course=attempt.run_id,
        received_at=attempt.received_at,
        record=hash_record(
            encoded, attempt, stored_at=stored_at, judged_at=judged_at, regrade_id=regrade_id
        ),
    )
    score = judgement.score
    return JudgementLine(
        id=make_id("jud"),
        attempt_id=attempt.id,
        number=number,
        rubric_version=rubric.version,
        # They are stored in the very bytes that the receipt covers.
        verdicts=orjson.Fragment(encoded.verdicts),
        misconceptions=orjson.Fragment(encoded.misconceptions),
        uses=describe_used(submission.used),
        awarded=score.awarded,
        possible=score.possible,
        pending=score.pending,
        needs_person=any(each.needs_person for each in judgement.verdicts),
        receipt=sign_receipt_fields(receipt, key),
        judged_at=judged_at,
        regrade_id=regrade_id,
    )
