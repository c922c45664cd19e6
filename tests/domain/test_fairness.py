from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.fairness import (
    MAX_DISTINCT_VALUES,
    PERMUTATIONS,
    Group,
    compute_chi_square,
    compute_holm_p_values,
    compute_permutation_p_value,
    count_groups,
    split_by_value,
)


def groups_of(*table: tuple[int, int]) -> list[Group]:
    """Groups by students and solvers."""
    return [Group(str(place), n, k) for place, (n, k) in enumerate(table)]


def p_of(*table: tuple[int, int]) -> float:
    return compute_permutation_p_value(groups_of(*table), np.random.default_rng(7))


def by_all_deals(*table: tuple[int, int]) -> float:
    """The same by dealing the solvers in every way there is, on a chi-square with both rows."""
    owner = [place for place, (n, _) in enumerate(table) for _ in range(n)]
    sizes = [n for n, _ in table]
    solvers = sum(k for _, k in table)

    def chi_square(solved: list[int]) -> float:
        share = solvers / sum(sizes)
        return sum(
            (k - n * share) ** 2 / (n * share) + (k - n * share) ** 2 / (n * (1 - share))
            for n, k in zip(sizes, solved, strict=True)
        )

    observed = chi_square([k for _, k in table])
    deals = [
        chi_square([sum(owner[each] == place for each in chosen) for place in range(len(table))])
        for chosen in combinations(range(len(owner)), solvers)
    ]
    return sum(each >= observed - 1e-9 for each in deals) / len(deals)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param([(4, 4), (4, 0)], id="as uneven as can be"),
        pytest.param([(5, 4), (5, 1)], id="uneven"),
        pytest.param([(3, 1), (4, 2), (5, 4)], id="three groups of several sizes"),
        pytest.param([(6, 3), (6, 3)], id="even"),
        pytest.param([(1, 1), (11, 3)], id="one student alone"),
    ],
)
def test_shuffling_agrees_with_dealing_in_every_way(table: list[tuple[int, int]]) -> None:
    wanted = by_all_deals(*table)
    error = (wanted * (1 - wanted) / PERMUTATIONS) ** 0.5

    assert p_of(*table) == pytest.approx(wanted, abs=4 * error + 1e-3)


def test_unevenness_is_chi_square_but_for_its_factor() -> None:
    """Worked by hand: 8 of 10 and 2 of 10 against 5 each give 7.2, times p (1 - p) = 1.8."""
    found = compute_chi_square(np.array([10, 10]), np.array([8, 2]))

    assert float(found) == pytest.approx(7.2 * 0.25)


@pytest.mark.parametrize(
    "table", [[], [(30, 10)], [(20, 0), (20, 0)], [(20, 20), (9, 9)], [(30, 10), (0, 0)]]
)
def test_where_nothing_can_differ_nothing_does(table: list[tuple[int, int]]) -> None:
    assert p_of(*table) == 1


def test_where_draws_do_not_matter_an_alarm_is_as_rare_as_promised() -> None:
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        codes = generator.integers(0, 5, size=60)
        groups = count_groups(list("abcde"), codes, generator.random(60) < 0.4)
        alarms += compute_permutation_p_value(groups, generator) < 0.05

    # 20 are expected; more than 35 would come about once in a thousand times.
    assert alarms <= 35


def test_where_a_draw_matters_it_is_found() -> None:
    assert p_of((30, 6), (30, 21)) < 0.001


def test_holms_adjustment_worked_by_hand() -> None:
    # Times 3, 2 and 1 from the smallest on, and none below the one before.
    assert compute_holm_p_values([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert compute_holm_p_values([0.5, 0.9]) == [1, 1]
    assert compute_holm_p_values([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_adjusting_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = compute_holm_p_values(p_values)

    assert all(p <= after <= 1 for p, after in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert all(np.diff([adjusted[place] for place in order]) >= 0)


def test_few_values_stand_for_themselves() -> None:
    labels, codes = split_by_value(np.array([3.0, 0, 3, 1]))

    assert labels == ["0", "1", "3"]
    assert codes.tolist() == [2, 0, 2, 1]


def test_many_values_are_cut_into_thirds() -> None:
    values = np.random.default_rng(3).normal(size=300)
    labels, codes = split_by_value(values)

    assert len(labels) == 3
    assert np.bincount(codes).tolist() == [100, 100, 100]
    assert values[codes == 0].max() < values[codes == 1].min()
    assert values[codes == 1].max() < values[codes == 2].min()


def test_what_differs_by_rounding_alone_is_the_same() -> None:
    labels, codes = split_by_value(
        np.sqrt(2) * (1 + np.linspace(0, 1e-14, MAX_DISTINCT_VALUES + 9))
    )

    assert labels == ["all"]
    assert not codes.any()
    assert split_by_value(np.array([]))[0] == []


def test_groups_count_students_and_solvers() -> None:
    groups = count_groups(["x", "y", "z"], np.array([0, 2, 0, 2, 2]), np.array([1, 0, 0, 1, 1]) > 0)

    assert groups == [Group("x", 2, 1), Group("y", 0, 0), Group("z", 3, 2)]
    assert [each.share for each in groups] == pytest.approx([1 / 2, 0, 2 / 3])
