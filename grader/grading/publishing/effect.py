"""Whom a publication touches, before it is published: what changes, and what a regrade would do.

A regrade of all answers may take a minute, so that some of them stand for all here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.grading.context import GradingContext
from grader.grading.regrades.judge import judge_cases
from grader.rubric.catalog import CompiledAssignment, Rubric
from grader.rubric.changes import RubricChange, compare_rubrics
from grader.store.database import Session
from grader.store.queries.publications import find_in_force
from grader.store.queries.regrades.judging import (
    AttemptCount,
    count_attempts,
    find_cases,
    list_counted_attempts,
)

#: How many students' counted attempts are judged for each question.
SAMPLE_SIZE = 200


@dataclass(frozen=True, slots=True)
class SampledRegrade:
    """What the new version gives to some counted attempts, beside what they have."""

    judged: int
    up: int
    down: int
    left_out: int

    @property
    def same(self) -> int:
        """How many would keep their points."""
        return self.judged - self.up - self.down


@dataclass(frozen=True, slots=True)
class QuestionEffect:
    """What changes about a question, and whom it touches.

    `sample` is None where nothing changes that decides about answers, or nobody has answered.
    """

    question: str
    title: str
    changes: Sequence[RubricChange]
    attempts: int
    students: int
    sample: SampledRegrade | None

    @property
    def is_judged_otherwise(self) -> bool:
        """Whether answers may come out otherwise than before."""
        return any(each is not RubricChange.WORDS for each in self.changes)


def load_publication_effect(
    session: Session, context: GradingContext, *, run_id: str, candidate: CompiledAssignment
) -> list[QuestionEffect]:
    """The questions whose files differ from those in force; empty where none is in force."""
    assignment = candidate.form.id
    line = find_in_force(session, run_id=run_id, assignment=assignment)
    if line is None:
        return []
    before = context.published(session, line).assignment.rubrics
    counts = count_attempts(session, run_id=run_id, assignment=assignment)
    found = []
    for name, rubric in candidate.rubrics.items():
        changes = compare_rubrics(before[name], rubric) if name in before else frozenset()
        if not changes:
            continue
        count = counts.get(name, AttemptCount(0, 0))
        effect = QuestionEffect(
            name, rubric.form.title, sorted(changes), count.attempts, count.students, None
        )
        if effect.is_judged_otherwise and count.attempts:
            sample = _judge_sample(session, context, run_id, rubric)
            effect = QuestionEffect(
                name, rubric.form.title, effect.changes, count.attempts, count.students, sample
            )
        found.append(effect)
    return found


def _judge_sample(
    session: Session, context: GradingContext, run_id: str, rubric: Rubric
) -> SampledRegrade:
    ids = list_counted_attempts(
        session, run_id=run_id, assignment=rubric.assignment, question=rubric.form.id,
        limit=SAMPLE_SIZE,
    )  # fmt: skip
    cases = find_cases(session, attempt_ids=ids)
    if not cases:
        return SampledRegrade(0, 0, 0, 0)
    outcome = judge_cases(session, context, rubric, cases)
    gains = [each.judgement.score.awarded - each.case.judgement.awarded for each in outcome.judged]
    return SampledRegrade(
        judged=len(gains),
        up=sum(each > 0 for each in gains),
        down=sum(each < 0 for each in gains),
        left_out=len(outcome.left_out),
    )
