"""Variant fairness: whether some draws make a question harder than others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.fairness import (
    SIGNIFICANCE_LEVEL,
    Group,
    compute_holm_p_values,
    compute_permutation_p_value,
    count_groups,
    split_by_value,
)
from grader.domain.statistics import MIN_STUDENTS
from grader.engine.random.draws import Computed, DistinctIndices, Draw, Gaussian, Uniform, UnitRows
from grader.grading.context import PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import list_first_attempts, list_students, stream_draws

# The same attempts always give the same p-values.
_SEED = 20_260_101

Measure = Callable[[Mapping[str, Any]], float]


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
            numbers.append([each.measure(drawn) for each in quantities])
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
    return lambda drawn: float(drawn["indices"][name])


def _number(name: str) -> Measure:
    return lambda drawn: float(drawn["values"][name])


def _norm(name: str) -> Measure:
    return lambda drawn: float(np.linalg.norm(np.asarray(drawn["values"][name], dtype=np.float64)))


def _smallest_distance(name: str) -> Quantity:
    def measure(drawn: Mapping[str, Any]) -> float:
        rows = np.asarray(drawn["values"][name], dtype=np.float64)
        first, second = np.triu_indices(len(rows), k=1)
        return float(np.linalg.norm(rows[first] - rows[second], axis=1).min())

    return Quantity(name, "the smallest distance of two rows", measure)
