"""Attempts as they are shown: to a student as much as the policy allows, to staff all of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from grader.domain.policies import Feedback, Policy
from grader.feedback.base import Points, ReportModel
from grader.feedback.receipt import Receipt
from grader.feedback.report import CriterionReport, Report, build_report
from grader.grading.grades.settle import compute_earned_points
from grader.grading.serialize import decode_judgement
from grader.grading.signing import SigningKey, sign_receipt, to_withheld_receipt
from grader.rubric.catalog import Rubric
from grader.store.queries.attempts import AttemptLine, JudgementLine
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
    shows: Feedback


def compose_attempt_report(
    attempt: AttemptLine,
    judgement: JudgementLine,
    *,
    rubric: Rubric,
    policy: Policy,
    reviews: dict[str, ReviewLine],
    is_counted: bool,
    attempts_left: int,
    at: datetime,
    key: SigningKey,
    for_staff: bool = False,
) -> AttemptReport:
    """An attempt as a student may see it at a moment, or as staff see it."""
    whole = build_report(
        rubric.question,
        decode_judgement(judgement),
        uses=judgement.uses,
        receipt=Receipt.model_validate(judgement.receipt),
    )
    days_late = policy.window.days_late(attempt.received_at)
    points, *_ = compute_earned_points(judgement, reviews)
    report = AttemptReport(
        **_members(whole)
        | {
            "number": attempt.number,
            "answer": attempt.answer,
            "received_at": attempt.received_at,
            "days_late": days_late,
            "points": policy.window.reduced(points, days_late),
            "is_counted": is_counted,
            "reviews": _review_reports(whole, reviews),
            "uses_attempt": attempt.uses_attempt_id,
            "attempts_left": max(attempts_left, 0),
            "shows": Feedback.FULL,
        }
    )
    if for_staff:
        return report
    return _withhold(report, policy, at=at, key=key)


def _members(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in Report.model_fields}


def _review_reports(report: Report, reviews: dict[str, ReviewLine]) -> tuple[ReviewReport, ...]:
    possible = {each.id: each.max_points for each in report.criteria}
    return tuple(
        ReviewReport(
            criterion=each.criterion,
            points=each.points,
            max_points=possible.get(each.criterion, each.points),
            items=tuple(each.items),
            comment=each.comment,
            at=each.at,
        )
        for each in reviews.values()
    )


def _withhold(
    report: AttemptReport, policy: Policy, *, at: datetime, key: SigningKey
) -> AttemptReport:
    if not policy.shows_result(at):
        return report.model_copy(
            update={
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
                "receipt": sign_receipt(to_withheld_receipt(report.receipt), key),
                "shows": policy.strictest,
            }
        )
    if policy.feedback is Feedback.CORRECTNESS:
        return report.model_copy(
            update={
                "criteria": tuple(_without_details(each) for each in report.criteria),
                "feedback": (),
                "misconceptions": (),
                "shows": policy.feedback,
            }
        )
    return report


def _without_details(criterion: CriterionReport) -> CriterionReport:
    """A criterion without anything but its points and how it came out."""
    hidden = ("reason", "measured", "needed", "share", "share_needed", "interval", "key_sets")
    return criterion.model_copy(update=dict.fromkeys(hidden))
