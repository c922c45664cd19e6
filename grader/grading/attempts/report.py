"""Reports and plots of attempts: for a student as much as the policy allows, for staff all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson
from pydantic import Field

from grader.domain.policies import Feedback, Policy
from grader.engine.judge.judge import Judgement
from grader.errors import StudentError
from grader.feedback.base import Points, ReportModel
from grader.feedback.plots import Picture, make_pictures
from grader.feedback.receipt import ReceiptFields
from grader.feedback.report import Report, build_report_fields
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import compute_earned_points
from grader.grading.serialize import decode_judgement
from grader.grading.signing import SigningKey, sign_receipt_fields
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, find_judged
from grader.store.queries.decisions import ReviewLine


class ReviewReport(ReportModel):
    """What a person said about a written part."""

    criterion: str
    points: Points
    max_points: Points
    items: tuple[int, ...]
    comment: str
    at: datetime


class AttemptReport(Report):
    """An attempt that is stored, with what became of it since.

    `points` is what it is worth now: with reviews, and less where it came late. `shows` says how
    much of the result is shown.
    """

    answer: Any
    received_at: datetime
    days_late: int
    points: Points | None
    is_counted: bool
    reviews: tuple[ReviewReport, ...]
    uses_attempt: str | None
    repeats_attempt: str | None = Field(
        description="The earlier attempt with the same answer, if this one is free because the "
        "rubric has changed since."
    )
    shows: Feedback


def build_attempt_fields(
    attempt: AttemptLine,
    judgement: Judgement,
    receipt: ReceiptFields,
    *,
    rubric: Rubric,
    policy: Policy,
    uses: str | None,
    points: Decimal,
    reviews: Mapping[str, ReviewLine],
    is_counted: bool,
    attempts_left: int,
    at: datetime,
    key: SigningKey,
    for_staff: bool = False,
) -> dict[str, Any]:
    """The fields of an `AttemptReport`, as a student may see it at a moment or as staff see it.

    `points` is what it earned, reviews included and lateness not.
    """
    fields = build_report_fields(rubric.question, judgement, receipt, uses=uses)
    days_late = policy.window.days_late(attempt.received_at)
    possible = {each.criterion: each.possible for each in judgement.verdicts}
    fields |= {
        "number": attempt.number,
        "answer": attempt.answer,
        "received_at": attempt.received_at,
        "days_late": days_late,
        "points": policy.window.reduced(points, days_late),
        "is_counted": is_counted,
        "reviews": tuple(
            ReviewReport(
                criterion=each.criterion,
                points=each.points,
                max_points=possible.get(each.criterion, each.points),
                items=tuple(each.items),
                comment=each.comment,
                at=each.at,
            )
            for each in reviews.values()
        ),
        "uses_attempt": attempt.uses_attempt_id,
        "repeats_attempt": attempt.repeats_attempt_id,
        "attempts_left": attempts_left,
        "shows": Feedback.FULL,
    }
    if not for_staff:
        _withhold(fields, receipt, policy, at=at, key=key)
    return fields


def write_attempt_report(fields: dict[str, Any]) -> str:
    """The JSON of an `AttemptReport`, without making one, which takes several times as long."""
    return orjson.dumps(fields, default=_to_plain, option=orjson.OPT_UTC_Z).decode()


def _to_plain(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case ReportModel():
            return value.model_dump(mode="json")
        case _:
            raise TypeError(type(value).__name__)


def compose_stored_report(
    attempt: AttemptLine, line: JudgementLine, *, reviews: Mapping[str, ReviewLine], **more: Any
) -> AttemptReport:
    """The report of a stored attempt; `more` as for `build_attempt_fields`."""
    points, *_ = compute_earned_points(line, reviews)
    fields = build_attempt_fields(
        attempt,
        decode_judgement(line),
        line.receipt,
        uses=line.uses,
        points=points,
        reviews=reviews,
        **more,
    )
    return AttemptReport(**fields)


def _withhold(
    fields: dict[str, Any], receipt: ReceiptFields, policy: Policy, *, at: datetime, key: SigningKey
) -> None:
    """Take out what the student may not see yet."""
    if not policy.shows_result(at):
        fields |= {
            "score": None,
            "points": None,
            "criteria": (),
            "feedback": (),
            "misconceptions": (),
            "reviews": (),
            "uses": None,
            # Which earlier attempt counted tells which one was better.
            "uses_attempt": None,
            "is_counted": False,
            "receipt": sign_receipt_fields(receipt, key, withheld=True),
            "shows": policy.strictest,
        }
    elif policy.feedback is Feedback.CORRECTNESS:
        hidden = ("reason", "measured", "needed", "share", "share_needed", "interval", "key_sets")
        fields |= {
            "criteria": tuple(each | dict.fromkeys(hidden) for each in fields["criteria"]),
            "feedback": (),
            "misconceptions": (),
            "shows": policy.feedback,
        }


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
