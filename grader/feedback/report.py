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
from grader.engine.noise import hash_numbers
from grader.engine.question import Question
from grader.engine.rows import Submission, UsedAnswer
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
    """What a grade rests on, by hashes.

    `noise` is that of the raw normals of the first `key_sets` key sets, `used` that of the earlier
    answer's numbers; empty where there is nothing to hash.
    """

    answer: str
    rubric: str
    noise: str
    key_sets: int
    used: str
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
    drawn = count_drawn(judge.question, judgement)
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
            noise=hash_noise(judge, drawn),
            key_sets=drawn,
            used=hash_used(submission.used),
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


def count_drawn(question: Question, judgement: Judgement) -> int:
    """How many key sets were drawn for a judgement; zero where nothing is sampled."""
    if question.key_sets is None:
        return 0
    drawn = [verdict.evidence.drawn or 0 for verdict in judgement.verdicts]
    return max(question.key_sets.counts[0], *drawn)


def hash_noise(judge: Judge, key_sets: int) -> str:
    """A digest of the raw normals that a grade rests on; empty where nothing is sampled."""
    if not key_sets:
        return ""
    source = judge.ground.source(0, key_sets)
    arrays = [source.normals(name, axes) for name, axes in _quantities(judge.question)]
    return "sha256:" + hash_numbers(arrays)


def hash_used(used: UsedAnswer | None) -> str:
    """A digest of the earlier answer that a part was tried with; empty where there is none."""
    if used is None:
        return ""
    return "sha256:" + hash_numbers([used.arrays[name] for name in sorted(used.arrays)])


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
