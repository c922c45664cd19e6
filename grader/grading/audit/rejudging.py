"""Attempts judged again by the rubric, the variant and the secret that are stored."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from grader import __version__
from grader.domain.verdicts import Verdict
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.random.variants import Variant
from grader.feedback.receipt import list_verdicts
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.rules import PublicationRules
from grader.grading.judgements import JUDGING_ERRORS
from grader.grading.serialize import decode_judgement, decode_variant
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, find_variants
from grader.store.queries.verification import (
    StoredAttempt,
    find_stored_attempts,
    stream_attempt_ids,
)
from grader.store.rows import UnreadableRow

# Attempts that are judged together.
_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class RejudgeSample:
    """Which attempts are judged again: a random sample of `most`, or all where that is None."""

    most: int | None
    seed: int


@dataclass(frozen=True, slots=True)
class _RejudgeCase:
    attempt: AttemptLine
    judgement: JudgementLine
    judge: Judge
    submission: Submission
    stored: tuple[Verdict, ...]


def check_rejudged(
    session: Session, rules: PublicationRules, sample: RejudgeSample, tally: AuditCheck
) -> None:
    """Judge attempts again, and compare the verdicts that hold."""
    ids = iter(_choose(stream_attempt_ids(session), sample))
    while some := list(islice(ids, _BATCH_SIZE)):
        stored = find_stored_attempts(session, ids=some)
        used = [
            each.attempt.uses_attempt_id
            for each in stored.values()
            if isinstance(each, StoredAttempt) and each.attempt.uses_attempt_id
        ]
        earlier = find_stored_attempts(session, ids=used)
        cases = [
            case
            for each in some
            if (case := _prepare(rules, each, stored.get(each), earlier, tally)) is not None
        ]
        _judge(cases, tally)
        tally.count(len(some))


def _choose(ids: Iterator[str], sample: RejudgeSample) -> Iterable[str]:
    """A uniform sample, without having all ids in memory."""
    if sample.most is None:
        return ids
    generator = random.Random(sample.seed)
    chosen: list[str] = []
    for count, each in enumerate(ids):
        if count < sample.most:
            chosen.append(each)
        elif (place := generator.randrange(count + 1)) < sample.most:
            chosen[place] = each
    return chosen


def _prepare(
    rules: PublicationRules,
    attempt_id: str,
    stored: StoredAttempt | UnreadableRow | None,
    earlier: dict[str, StoredAttempt | UnreadableRow],
    tally: AuditCheck,
) -> _RejudgeCase | None:
    """Everything that is needed to judge an attempt again; None where that cannot be."""
    if not isinstance(stored, StoredAttempt) or not stored.judgements:
        tally.report(attempt_id, "There is nothing to compare with.")
        return None
    used = earlier.get(stored.attempt.uses_attempt_id or "")
    try:
        return _make_case(rules, stored, used if isinstance(used, StoredAttempt) else None)
    except JUDGING_ERRORS as error:
        (reason, *_) = str(error).splitlines() or [type(error).__name__]
        tally.report(attempt_id, f"It cannot be judged by what is stored: {reason[:300]}")
        return None


def _make_case(
    rules: PublicationRules, stored: StoredAttempt, used: StoredAttempt | None
) -> _RejudgeCase:
    attempt, judgement = stored.attempt, stored.judgements[-1]
    rubric = _rubric(rules, attempt, judgement)
    judge = rules.context.judge(rules.session, run_id=attempt.run_id, rubric=rubric)
    variant = _variant(rules.session, attempt, judge)
    earlier = used.attempt.answer if used is not None else None
    submission = judge.prepare(variant, attempt.answer, earlier=earlier)
    return _RejudgeCase(attempt, judgement, judge, submission, decode_judgement(judgement).verdicts)


def _rubric(rules: PublicationRules, attempt: AttemptLine, judgement: JudgementLine) -> Rubric:
    """The rubric that it was judged by: that of its own publication, or after a regrade another.

    A part that builds on another was judged by both files.
    """
    wanted = (judgement.rubric_version, judgement.receipt["used_rubric"])
    own = rules.lines.get(attempt.publication_id)
    for line in (
        *([own] if own else []),
        *rules.newest_first(attempt.run_id, attempt.assignment),
    ):
        published = rules.compiled(line)
        rubric = published.assignment.rubrics.get(attempt.question) if published else None
        if rubric and wanted == rubric.versions:
            return rubric
    raise LookupError("the rubric that it was judged by is not there any more.")


def _variant(session: Session, attempt: AttemptLine, judge: Judge) -> Variant:
    """The variant as it was shown, which must be the one that the secret gives."""
    source = judge.question.source
    key = (attempt.enrolment_id, source.id, source.revision)
    shown = find_variants(session, wanted=[key]).get(key)
    if shown is None:
        raise LookupError("the variant that was shown is not there.")
    variant = decode_variant(attempt.enrolment_id, shown.drawn)
    if not _are_close(variant, judge.variant(attempt.enrolment_id)):
        raise LookupError("the variant that was shown is not the one that the secret gives.")
    return variant


def _are_close(shown: Variant, redrawn: Variant) -> bool:
    """Whether two variants are the same; QR may differ in the last bits on another machine."""
    return (
        shown.indices == redrawn.indices
        and shown.values.keys() == redrawn.values.keys()
        and all(
            value.shape == redrawn.values[name].shape
            and np.allclose(value, redrawn.values[name], rtol=1e-9, atol=1e-12)
            for name, value in shown.values.items()
        )
    )


def _judge(cases: Sequence[_RejudgeCase], tally: AuditCheck) -> None:
    """Judge all answers to a question at once."""
    groups: dict[int, list[_RejudgeCase]] = defaultdict(list)
    for case in cases:
        groups[id(case.judge)].append(case)
    for group in groups.values():
        judgements = group[0].judge.judge([each.submission for each in group], recognising=False)
        for case, judgement in zip(group, judgements, strict=True):
            different = _different(case.stored, judgement.verdicts)
            if different:
                tally.report(case.attempt.id, _describe_difference(case, different))


def _different(stored: Iterable[Verdict], again: Iterable[Verdict]) -> list[str]:
    """The criteria that come out differently; figures may differ in their last digits."""
    before = {each.criterion: each for each in list_verdicts(stored)}
    now = {each.criterion: each for each in list_verdicts(again)}
    return [name for name in {**before, **now} if before.get(name) != now.get(name)]


def _describe_difference(case: _RejudgeCase, different: list[str]) -> str:
    engine = case.judgement.receipt.get("engine")
    other = "" if engine == __version__ else f" It was judged by Keyset {engine}."
    return f"Judged again it comes out differently: {', '.join(different)}.{other}"
