"""The result of one attempt, in the words and keys that the service and the command line share."""

from __future__ import annotations

from typing import Any

from grader.domain.verdicts import Verdict
from grader.engine.judge.cases import UsedAnswer
from grader.engine.judge.judge import Judgement
from grader.engine.question import Question
from grader.feedback.base import Points, ReportModel
from grader.feedback.receipt import Receipt, ReceiptFields
from grader.feedback.sentences import explain, explain_misconception


class CriterionReport(ReportModel):
    """How one criterion came out."""

    id: str
    title: str
    points: Points
    max_points: Points
    outcome: str
    reason: str | None
    measured: float | None
    needed: float | None
    at_least: bool
    share: float | None
    share_needed: float | None
    interval: tuple[float, float] | None
    key_sets: int | None


class FeedbackLine(ReportModel):
    """One sentence about one criterion."""

    criterion: str
    text: str


class MisconceptionReport(ReportModel):
    """A misconception that the answer shows."""

    id: str
    text: str


class Report(ReportModel):
    """The result of one attempt.

    `id` and `number` are None where nothing is stored, `score` where it is withheld for now.
    """

    id: str | None
    number: int | None
    question: str
    variant: str
    score: Points | None
    max_score: Points
    max_automatic: Points
    pending: Points
    criteria: tuple[CriterionReport, ...]
    feedback: tuple[FeedbackLine, ...]
    misconceptions: tuple[MisconceptionReport, ...]
    uses: str | None
    receipt: Receipt
    attempts_left: int | None


def build_report(
    question: Question, judgement: Judgement, receipt: Receipt, *, used: UsedAnswer | None
) -> Report:
    """A judgement in the form that students and programs get."""
    fields = build_report_fields(
        question, judgement, receipt.model_dump(mode="json"), uses=describe_used(used)
    )
    return Report(**fields | {"receipt": receipt})


def describe_used(used: UsedAnswer | None) -> str | None:
    """Which earlier answer was used: `own`, `reference`, or None where there is none."""
    return None if used is None else "own" if used.is_own else "reference"


def build_report_fields(
    question: Question, judgement: Judgement, receipt: ReceiptFields, *, uses: str | None
) -> dict[str, Any]:
    """The fields of a report, by name; models within it as their own fields.

    One model is made of all at the end, which takes a third of the time of a dozen.
    """
    score = judgement.score
    is_own = uses != "reference"
    titles = {criterion.id: criterion.title for criterion in question.criteria}
    return {
        "id": receipt["attempt"],
        "number": None,
        "question": question.id,
        "variant": receipt["variant"],
        "score": score.awarded,
        "max_score": score.possible,
        "max_automatic": score.automatic,
        "pending": score.pending,
        "criteria": tuple(
            _build_criterion(each, titles.get(each.criterion, each.criterion))
            for each in judgement.verdicts
        ),
        "feedback": tuple(
            {"criterion": each.criterion, "text": explain(each, question, is_own=is_own)}
            for each in judgement.verdicts
        ),
        "misconceptions": tuple(
            {"id": each.id, "text": explain_misconception(each, is_own=is_own)}
            for each in judgement.misconceptions
        ),
        "uses": uses,
        "receipt": receipt,
        "attempts_left": None,
    }


def _build_criterion(verdict: Verdict, title: str) -> dict[str, Any]:
    """The fields of a `CriterionReport`."""
    evidence = verdict.evidence
    interval = evidence.interval
    return {
        "id": verdict.criterion,
        "title": title,
        "points": verdict.points,
        "max_points": verdict.possible,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value,
        "measured": evidence.measured,
        "needed": evidence.needed,
        "at_least": evidence.at_least,
        "share": evidence.share,
        "share_needed": evidence.share_needed,
        "interval": (interval.low, interval.high) if interval else None,
        "key_sets": evidence.key_sets,
    }
