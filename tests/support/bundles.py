"""Bundles of stored attempts, as the service would compose them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.feedback.receipt import Receipt, compose_receipt_fields, list_verdicts
from grader.grading.receipts.bundle import Bundle, EarlierQuestion, compose_bundle
from grader.grading.signing import SigningKey, sign_receipt
from tests.support.rubrics import judge_of, rubric_of, submit

KEY = SigningKey.from_bytes(bytes(range(32)))
RECEIVED_AT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
PUBLISHES_AT = datetime(2026, 3, 20, 22, 59, tzinfo=UTC)

NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"
EXACT = "single-head-attention/1c"
WRITTEN = "self-attention-and-transformers/a-i"
CHOICE = "self-attention-and-transformers/a-iii"
PREDICTIONS = {"share_near_average": 0, "share_nearer_b": 1.0, "variance": "1/4", "spread_ratio": 0}


def bundle_of(
    question: str,
    sent: dict[str, Any],
    *,
    uses: dict[str, Any] | None = None,
    is_published: bool = True,
) -> Bundle:
    """The bundle of an attempt with the development keys."""
    judge, rubric = judge_of(question), rubric_of(question)
    submission = submit(question, sent, uses=uses)
    (judgement,) = judge.judge([submission])
    part = None
    if rubric.earlier is not None and submission.used is not None:
        part = EarlierQuestion(
            question=rubric.earlier.id, answer=uses, is_own=submission.used.is_own
        )
    fields = compose_receipt_fields(
        judge, submission, judgement, versions=rubric.versions,
        attempt="att_1", course="run-2026", received_at=RECEIVED_AT,
    )  # fmt: skip
    return compose_bundle(
        rubric=rubric,
        receipt=sign_receipt(Receipt.model_validate(fields), KEY),
        public_key=KEY.public,
        answer=sent,
        variant=submission.variant,
        verdicts=list_verdicts(judgement.verdicts),
        uses=part,
        publishes_at=PUBLISHES_AT,
        keys=DEVELOPMENT_KEYS if is_published else None,
    )
