"""Question analytics: statistics with the answers that nobody foresaw, kept for a while."""

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
from grader.grading.analytics.tallies import OccurrenceCount, QuestionTally
from grader.grading.caches import CachedValue
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import compute_data_version

#: So many groups are shown; the rest is counted.
MAX_GROUPS = 12


@dataclass(frozen=True, slots=True)
class BehaviourGroup:
    """Attempts that fit no known misconception and did the same, with the earliest of them."""

    key: str
    traits: Traits
    students: int
    attempts: int
    example: str


@dataclass(frozen=True, slots=True)
class UnexplainedAttempts:
    """The attempts at a question that nothing explains: the largest groups, and all in number."""

    groups: tuple[BehaviourGroup, ...]
    group_count: int
    attempts: int
    students: int


@dataclass(frozen=True, slots=True)
class AssignmentAnalysis:
    """An assignment's statistics, and what is left unexplained of each question."""

    published: PublishedAssignment
    statistics: AssignmentStatistics
    unexplained: Mapping[str, UnexplainedAttempts]

    def question(self, name: str) -> QuestionStatistics:
        """A question's statistics; the question must be one of the assignment."""
        return next(each for each in self.statistics.questions if each.question == name)


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """All that is known about how students did on one question."""

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
    """How students did on an assignment, as of a moment ago; see `Keeper` for what that means.

    Raises
    ------
    NotFound
        Where the course run has no such assignment.
    """
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)

    def make() -> AssignmentAnalysis:
        loaded = load_assignment_data(session, published)
        left_over = {name: _unexplained(tally) for name, tally in loaded.tallies.items()}
        return AssignmentAnalysis(published, compute_statistics(loaded), left_over)

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
        Where the course run has no such assignment, or the assignment no such question.
    """
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    rubric = published.rubric(question)
    state = compute_data_version(session, run_id=membership.run.id, assignment=assignment)
    analysis = load_assignment_analysis(session, context, membership, assignment=assignment, at=at)
    if question not in analysis.value.unexplained:
        # It was added a moment ago, while the figures of before will do for the others.
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
    """The groups with the most students first."""

    def rank(item: tuple[str, OccurrenceCount]) -> tuple[int, int, str]:
        return -len(item[1].students), -item[1].attempts, item[0]

    ranked = sorted(tally.unexplained.items(), key=rank)
    return UnexplainedAttempts(
        tuple(
            BehaviourGroup(key, shown.data, len(shown.students), shown.attempts, shown.attempt_id)
            for key, shown in ranked[:MAX_GROUPS]
        ),
        len(ranked),
        sum(shown.attempts for _, shown in ranked),
        len(set().union(*(shown.students for _, shown in ranked))),
    )
