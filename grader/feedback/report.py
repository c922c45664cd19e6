"""The result of one attempt, in the words and keys that the service and the command line share."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer

from grader import __version__
from grader.domain.verdicts import Verdict
from grader.engine.judge import Judge, Judgement
from grader.engine.keysets import GaussianKeys, InSpan
from grader.engine.noise import NoiseName, noise_hash
from grader.engine.question import Question
from grader.engine.rows import Submission
from grader.feedback.sentences import explain


def _as_number(points: Decimal) -> int | float:
    return int(points) if points == points.to_integral_value() else float(points)


#: Points have two decimals at most, so that the JSON number is the exact decimal.
Points = Annotated[Decimal, PlainSerializer(_as_number, return_type=float, when_used="json")]


class Part(BaseModel):
    """Base of what is reported."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CriterionReport(Part):
    """How one criterion came out."""

    id: str
    title: str
    points: Points
    max_points: Points
    outcome: str
    reason: str
    measured: float | None
    needed: float | None
    at_least: bool
    share: float | None
    share_needed: float | None
    interval: tuple[float, float] | None
    key_sets: int | None


class FeedbackLine(Part):
    """One sentence about one criterion."""

    criterion: str
    text: str


class MisconceptionReport(Part):
    """A misconception that the answer shows."""

    id: str
    text: str


class Receipt(Part):
    """What a grade rests on, by hashes."""

    answer: str
    rubric: str
    noise: str
    engine: str


class Report(Part):
    """The result of one attempt; `id` and `number` are None where nothing is stored."""

    id: str | None
    number: int | None
    question: str
    variant: str
    score: Points
    max_score: Points
    max_automatic: Points
    pending: Points
    criteria: tuple[CriterionReport, ...]
    feedback: tuple[FeedbackLine, ...]
    misconceptions: tuple[MisconceptionReport, ...]
    uses: str | None
    receipt: Receipt
    attempts_left: int | None


def compose_report(
    judge: Judge, submission: Submission, judgement: Judgement, *, sent: Any, rubric_version: str
) -> Report:
    """Put a judgement into the form that students and programs get."""
    score = judgement.score
    titles = {criterion.id: criterion.title for criterion in judge.question.criteria}
    uses = None
    if submission.used is not None:
        uses = "own" if submission.used.is_own else "reference"
    return Report(
        id=None,
        number=None,
        question=judge.question.id,
        variant=submission.variant.id,
        score=score.awarded,
        max_score=score.possible,
        max_automatic=score.automatic,
        pending=score.pending,
        criteria=tuple(_criterion(each, titles[each.criterion]) for each in judgement.verdicts),
        feedback=tuple(
            FeedbackLine(criterion=each.criterion, text=explain(each))
            for each in judgement.verdicts
        ),
        misconceptions=tuple(
            MisconceptionReport(id=each.id, text=each.text) for each in judgement.misconceptions
        ),
        uses=uses,
        receipt=Receipt(
            answer=hash_answer(sent),
            rubric=rubric_version,
            noise=hash_noise(judge),
            engine=__version__,
        ),
        attempts_left=None,
    )


def _criterion(verdict: Verdict, title: str) -> CriterionReport:
    evidence = verdict.evidence
    interval = evidence.interval
    return CriterionReport(
        id=verdict.criterion,
        title=title,
        points=verdict.points,
        max_points=verdict.possible,
        outcome=verdict.outcome.value,
        reason=verdict.reason.value,
        measured=evidence.measured,
        needed=evidence.needed,
        at_least=evidence.at_least,
        share=evidence.share,
        share_needed=evidence.share_needed,
        interval=(interval.low, interval.high) if interval else None,
        key_sets=evidence.key_sets,
    )


def hash_answer(sent: Any) -> str:
    """A digest of an answer as it was sent, independent of the order of its fields."""
    canonical = json.dumps(sent, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def hash_noise(judge: Judge) -> str:
    """A digest of the raw normals that a grade rests on; empty where nothing is sampled."""
    question, ground = judge.question, judge.ground
    if question.key_sets is None:
        return ""
    last = question.key_sets.counts[0]
    arrays = [
        ground.bank.normals(NoiseName(ground.key, ground.purpose, name, axes), 0, last)
        for name, axes in _quantities(question)
    ]
    return "sha256:" + noise_hash(arrays)


def _quantities(question: Question) -> list[tuple[str, tuple[int, ...]]]:
    assert question.key_sets is not None, "the caller looked"
    found: list[tuple[str, tuple[int, ...]]] = []
    for name, rule in question.key_sets.rules.items():
        match rule:
            case GaussianKeys():
                found.append((name, rule.mean.shape.axes))
                if rule.stretch is not None:
                    found.append((f"{name}/stretch", ()))
            case InSpan():
                found.append((name, (rule.basis.shape.columns,)))
    return found
