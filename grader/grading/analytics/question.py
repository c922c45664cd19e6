"""Question analytics: statistics, attempts that nothing explains, and variant fairness.

A question is fair when it is equally hard for all draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from grader.accounts.callers import Membership
from grader.domain.behaviour import Traits
from grader.domain.fairness import (
    SIGNIFICANCE_LEVEL,
    Group,
    compute_holm_p_values,
    compute_permutation_p_value,
    count_groups,
    split_by_value,
)
from grader.domain.roles import Role
from grader.domain.statistics import MIN_STUDENTS
from grader.engine.random.draws import Computed, DistinctIndices, Draw, Gaussian, Uniform, UnitRows
from grader.engine.random.variants import Variant
from grader.grading.analytics.models import AssignmentStatistics, QuestionStatistics
from grader.grading.analytics.statistics import compute_statistics, load_assignment_data
from grader.grading.analytics.tallies import QuestionTally, list_most_common
from grader.grading.caches import CachedValue
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.serialize import decode_variant
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import (
    compute_data_version,
    list_first_attempts,
    list_students,
    stream_draws,
)

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


# The same attempts always give the same p-values.
_SEED = 20_260_101

Measure = Callable[[Variant], float]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number computed from a variant by `measure`; `what` describes it in words."""

    name: str
    what: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Comparison:
    """How students did by one quantity, and whether it could be chance.

    `p_value` is that of this quantity alone; `adjusted` accounts for all that were compared.
    """

    name: str
    what: str
    groups: tuple[Group, ...]
    p_value: float
    adjusted: float

    @property
    def is_significant(self) -> bool:
        """Whether chance alone would hardly spread the solvers like this."""
        return self.adjusted < SIGNIFICANCE_LEVEL

    @property
    def hardest(self) -> Group:
        """The group that solved it least often at the first attempt."""
        return min((each for each in self.groups if each.students), key=lambda each: each.share)

    @property
    def easiest(self) -> Group:
        """The group that solved it most often at the first attempt."""
        return max((each for each in self.groups if each.students), key=lambda each: each.share)


@dataclass(frozen=True, slots=True)
class Fairness:
    """A question's comparisons over n students; none if there are too few."""

    n: int
    comparisons: tuple[Comparison, ...] = ()

    @property
    def is_enough(self) -> bool:
        """Whether there are enough students to compare anything."""
        return self.n >= MIN_STUDENTS

    @property
    def significant(self) -> tuple[Comparison, ...]:
        """The significant comparisons, the clearest first."""
        found = (each for each in self.comparisons if each.is_significant)
        return tuple(sorted(found, key=lambda each: (each.adjusted, each.name)))


def compare_draws(session: Session, published: PublishedAssignment, rubric: Rubric) -> Fairness:
    """How students' first attempts came out by what was drawn, including those who left.

    Only attempts count that saw the variant of the revision in force and could earn something
    without a person.
    """
    run_id, assignment = published.line.run_id, published.line.assignment
    students = {enrolment_id for enrolment_id, _ in list_students(session, run_id=run_id)}
    firsts = list_first_attempts(
        session, run_id=run_id, assignment=assignment, question=rubric.form.id
    )
    solved = {each.enrolment_id: each.is_solved for each in firsts if each.enrolment_id in students}
    if not solved:
        return Fairness(0)
    question = rubric.question
    source = question.uses.question if question.uses else question
    quantities = list(list_quantities(source.draws))
    numbers, outcomes = [], []
    for enrolment_id, drawn in stream_draws(
        session, run_id=run_id, question=source.id, revision=source.revision
    ):
        if enrolment_id in solved:
            variant = decode_variant(enrolment_id, drawn)
            numbers.append([each.measure(variant) for each in quantities])
            outcomes.append(solved[enrolment_id])
    shape = len(outcomes), len(quantities)
    return compare_quantities(
        quantities,
        np.array(numbers, dtype=np.float64).reshape(shape),
        np.array(outcomes, dtype=np.bool_),
    )


def compare_quantities(
    quantities: list[Quantity], numbers: NDArray[np.float64], solved: NDArray[np.bool_]
) -> Fairness:
    """Compare students by each quantity: `numbers` is (n, Q), `solved` is (n,)."""
    if len(solved) < MIN_STUDENTS:
        return Fairness(len(solved))
    generator = np.random.default_rng(_SEED)
    found: list[tuple[Quantity, list[Group], float]] = []
    for place, quantity in enumerate(quantities):
        labels, codes = split_by_value(numbers[:, place])
        # A quantity that is the same for everybody makes no difference.
        if len(labels) > 1:
            groups = count_groups(labels, codes, solved)
            found.append((quantity, groups, compute_permutation_p_value(groups, generator)))
    adjusted = compute_holm_p_values([p_value for _, _, p_value in found])
    return Fairness(
        len(solved),
        tuple(
            Comparison(quantity.name, quantity.what, tuple(groups), p_value, after)
            for (quantity, groups, p_value), after in zip(found, adjusted, strict=True)
        ),
    )


# Quantities


def list_quantities(draws: tuple[Draw, ...]) -> Iterator[Quantity]:
    """The quantities of the draws that might matter.

    A random rotation has none: it affects every student alike.
    """
    for draw in draws:
        for name in draw.names:
            match draw.rule:
                case DistinctIndices():
                    yield Quantity(name, "the index", _index(name))
                case Uniform():
                    yield Quantity(name, "the number", _number(name))
                case Computed(node) if not node.shape.axes:
                    yield Quantity(name, "the number", _number(name))
                case Gaussian(axes):
                    yield Quantity(name, "its length", _norm(name))
                    if len(axes) == 2 and axes[0] > 1:
                        yield _smallest_distance(name)
                case UnitRows():
                    yield _smallest_distance(name)
                case _:
                    continue


def _index(name: str) -> Measure:
    return lambda drawn: float(drawn.indices[name])


def _number(name: str) -> Measure:
    return lambda drawn: float(drawn.values[name])


def _norm(name: str) -> Measure:
    return lambda drawn: float(np.linalg.norm(drawn.values[name]))


def _smallest_distance(name: str) -> Quantity:
    def measure(drawn: Variant) -> float:
        rows = drawn.values[name]
        first, second = np.triu_indices(len(rows), k=1)
        return float(np.linalg.norm(rows[first] - rows[second], axis=1).min())

    return Quantity(name, "the smallest distance of two rows", measure)
