"""Whether one draw makes a question harder: shares of students by what was drawn for them.

What the test means, and what it cannot tell, stands in
docs/explanation/what-the-statistics-mean.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.domain.statistics import FloatArray

#: A quantity with more different values than this is cut into thirds.
MAX_DISTINCT_VALUES = 12
#: With this many shuffles a p-value of 0.05 is known to within 0.005.
PERMUTATIONS = 9999
#: Below it a difference is spoken of; it holds for all draws of a question together.
SIGNIFICANCE_LEVEL = 0.05

GroupCodes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """The students with one value of a draw, and how many of them solved it at once."""

    label: str
    students: int
    solved: int

    @property
    def share(self) -> float:
        """The share that solved it; zero where there is nobody."""
        return self.solved / self.students if self.students else 0.0


def split_by_value(values: FloatArray) -> tuple[list[str], GroupCodes]:
    """Sort students by what was drawn for them: by value where these are few, else into thirds.

    Parameters
    ----------
    values
        (n,) one finite number for each student.

    Returns the labels in rising order, and (n,) the place of each student's label among them. One
    label only where all values are the same but for rounding.
    """
    if not len(values) or np.ptp(values) <= 1e-9 * np.abs(values).max(initial=0.0):
        return ["all"] if len(values) else [], np.zeros(len(values), dtype=np.int64)
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= MAX_DISTINCT_VALUES:
        return [f"{each:g}" for each in distinct], codes.astype(np.int64)
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    labels = [f"up to {low:.3g}", f"{low:.3g} to {high:.3g}", f"above {high:.3g}"]
    return labels, np.searchsorted([low, high], values, side="left").astype(np.int64)


def count_groups(
    labels: Sequence[str], codes: GroupCodes, solved: NDArray[np.bool_]
) -> list[Group]:
    """How many students there are of each label, and how many of them solved it."""
    students = np.bincount(codes, minlength=len(labels))
    solvers = np.bincount(codes[solved], minlength=len(labels))
    return [
        Group(label, int(n), int(k)) for label, n, k in zip(labels, students, solvers, strict=True)
    ]


def compute_chi_square(students: GroupCodes, solved: GroupCodes) -> FloatArray:
    """Pearson's chi-square of (…, G) tables of solvers, but for a factor that all share.

    The factor depends on the margins alone, which shuffling does not change.
    """
    expected = students * solved.sum(axis=-1, keepdims=True) / students.sum()
    found: FloatArray = ((solved - expected) ** 2 / students).sum(axis=-1)
    return found


def compute_permutation_p_value(groups: Sequence[Group], generator: np.random.Generator) -> float:
    """How often chance alone spreads the solvers as unevenly over the groups as they are.

    All students are dealt anew to groups of the same sizes. 1 where there is nothing to compare:
    fewer than two groups, or nobody or everybody has solved it.
    """
    sizes = np.array([each.students for each in groups if each.students], dtype=np.int64)
    solved = np.array([each.solved for each in groups if each.students], dtype=np.int64)
    if len(sizes) < 2 or solved.sum() in (0, sizes.sum()):
        return 1.0
    # Where only the groups' numbers matter, a shuffle is a draw without putting back.
    dealt = generator.multivariate_hypergeometric(sizes, int(solved.sum()), size=PERMUTATIONS)
    observed = float(compute_chi_square(sizes, solved))
    as_uneven = np.count_nonzero(compute_chi_square(sizes, dealt) >= observed * (1 - 1e-9))
    return (1 + int(as_uneven)) / (1 + PERMUTATIONS)


def compute_holm_p_values(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment: who looks at many draws finds one that stands out by chance."""
    order = np.argsort(p_values, kind="stable")
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
