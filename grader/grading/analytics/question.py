"""Question analytics: statistics with the answers that nothing explains, cached for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.accounts.callers import Membership
from grader.domain.behaviour import Traits
from grader.domain.roles import Role
from grader.grading.analytics.fairness import Fairness, compare_draws
from grader.grading.analytics.models import AssignmentStatistics, QuestionStatistics
from grader.grading.analytics.statistics import compute_statistics, load_assignment_data
from grader.grading.analytics.tallies import QuestionTally, list_most_common
from grader.grading.caches import CachedValue
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import compute_data_version

#: How many groups are shown; the rest is counted.
MAX_GROUPS = 12


@dataclass(frozen=True, slots=True)
class BehaviourGroup:
    """Attempts of the same behaviour that fit no known misconception, with the earliest of them."""

    key: str
    traits: Traits
    students: int
    attempts: int
    example: str


@dataclass(frozen=True, slots=True)
class UnexplainedAttempts:
    """The unexplained attempts at a question: the largest groups, and the counts of all."""

    groups: tuple[BehaviourGroup, ...]
    group_count: int
    attempts: int
    students: int


@dataclass(frozen=True, slots=True)
class AssignmentAnalysis:
    """An assignment's statistics, and the unexplained attempts at each question."""

    published: PublishedAssignment
    statistics: AssignmentStatistics
    unexplained: Mapping[str, UnexplainedAttempts]

    def question(self, name: str) -> QuestionStatistics:
        """A question's statistics; the question must be one of the assignment."""
        return next(each for each in self.statistics.questions if each.question == name)


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """The statistics of one question, its unexplained attempts and its fairness."""

    rubric: Rubric
    analysis: CachedValue[AssignmentAnalysis]
    statistics: QuestionStatistics
    unexplained: UnexplainedAttempts
    fairness: CachedValue[Fairness]


def load_assignment_analysis(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
    patience: timedelta | None = None,
) -> CachedValue[AssignmentAnalysis]:
    """How students did on an assignment, by figures that may be a little old (see `caches`).

    Raises
    ------
    NotFound
        If the course run has no such assignment.
    """
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)

    def make() -> AssignmentAnalysis:
        loaded = load_assignment_data(session, published)
        unexplained = {name: _unexplained(tally) for name, tally in loaded.tallies.items()}
        return AssignmentAnalysis(published, compute_statistics(loaded), unexplained)

    state = compute_data_version(session, run_id=membership.run.id, assignment=assignment)
    name = ("analysis", membership.run.id, assignment)
    return context.figures.get(name, make, at=at, state=state, patience=patience)


def load_question_analysis(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    at: datetime,
) -> QuestionAnalysis:
    """How students did on one question, and whether their draws made a difference.

    Raises
    ------
    NotFound
        If the course run has no such assignment, or the assignment no such question.
    """
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    rubric = published.rubric(question)
    state = compute_data_version(session, run_id=membership.run.id, assignment=assignment)
    analysis = load_assignment_analysis(session, context, membership, assignment=assignment, at=at)
    if question not in analysis.value.unexplained:
        # The question is newer than the cached figures.
        no_patience = timedelta(0)
        analysis = load_assignment_analysis(
            session, context, membership, assignment=assignment, at=at, patience=no_patience
        )
    fairness = context.figures.get(
        ("fairness", membership.run.id, assignment, question),
        lambda: compare_draws(session, published, rubric),
        at=at,
        state=state,
    )
    return QuestionAnalysis(
        rubric,
        analysis,
        analysis.value.question(question),
        analysis.value.unexplained[question],
        fairness,
    )


def _unexplained(tally: QuestionTally) -> UnexplainedAttempts:
    ranked = list_most_common(tally.unexplained)
    return UnexplainedAttempts(
        tuple(
            BehaviourGroup(key, shown.data, len(shown.students), shown.attempts, shown.attempt_id)
            for key, shown in ranked[:MAX_GROUPS]
        ),
        len(ranked),
        sum(shown.attempts for _, shown in ranked),
        len(set().union(*(shown.students for _, shown in ranked))),
    )
