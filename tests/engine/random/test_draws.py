from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.domain.shapes import NUMBER, make_matrix_shape
from grader.engine.random.draws import (
    Computed,
    DistinctIndices,
    Draw,
    DrawFailed,
    DrawRule,
    Gaussian,
    Orthogonal,
    Orthonormal,
    OrthonormalBases,
    Uniform,
    UnitRows,
)
from grader.engine.random.streams import open_stream
from grader.engine.random.variants import draw_variant
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import read_tree
from grader.formula.typed.scope import FormulaScope

NOTHING = Environment.empty()
SEEDS = st.integers(0, 10_000)


def draw(rule: DrawRule, seed: int) -> list[np.ndarray]:
    return rule.draw(open_stream(b"test", seed), NOTHING)


@given(SEEDS, st.integers(1, 6), st.integers(0, 5))
def test_orthonormal_rows_are_orthonormal(seed: int, rows: int, more: int) -> None:
    (frame,) = draw(Orthonormal(rows, rows + more), seed)

    assert frame.shape == (rows, rows + more)
    assert frame @ frame.T == pytest.approx(np.eye(rows), abs=1e-12)


def test_orthonormal_frames_favour_no_direction() -> None:
    frames = np.array([draw(Orthonormal(3, 5), seed)[0] for seed in range(4000)])

    # Each entry of a Haar frame has mean 0 and variance 1/d.
    assert np.abs(frames.mean(axis=0)).max() < 5 * np.sqrt(1 / 5 / 4000)
    assert frames.var(axis=0) == pytest.approx(np.full((3, 5), 1 / 5), rel=0.12)


@given(SEEDS)
def test_orthogonal_rows_have_the_drawn_length(seed: int) -> None:
    norm = read_tree("beta", FormulaScope(shapes={"beta": NUMBER}))
    drawn = Environment({"beta": np.full((1, 1), 7.5)})
    (rows,) = Orthogonal(4, 6, norm).draw(open_stream(b"test", seed), drawn)

    assert rows @ rows.T == pytest.approx(7.5**2 * np.eye(4), abs=1e-9)


@given(SEEDS)
def test_bases_span_orthogonal_subspaces(seed: int) -> None:
    first, second = draw(OrthonormalBases(10, (3, 4)), seed)

    assert (first.shape, second.shape) == ((10, 3), (10, 4))
    assert first.T @ first == pytest.approx(np.eye(3), abs=1e-12)
    assert second.T @ second == pytest.approx(np.eye(4), abs=1e-12)
    assert first.T @ second == pytest.approx(np.zeros((3, 4)), abs=1e-12)


@given(SEEDS)
def test_unit_rows_are_neither_orthogonal_nor_nearly_parallel(seed: int) -> None:
    (rows,) = draw(UnitRows(7, 9, 0.5), seed)
    cosines = (rows @ rows.T)[np.triu_indices(7, 1)]

    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(7))
    assert np.abs(cosines).max() <= 0.5
    assert np.abs(cosines).max() > 1e-3


def test_impossible_unit_rows_are_told_to_the_author() -> None:
    with pytest.raises(DrawFailed, match="9 unit vectors in 2 dimensions"):
        draw(UnitRows(9, 2, 0.1), 0)


@given(SEEDS, st.integers(1, 5), st.integers(0, 4))
def test_distinct_indices_are_distinct(seed: int, count: int, more: int) -> None:
    indices = [int(index) for index in draw(DistinctIndices(count, count + more), seed)]

    assert len(set(indices)) == count
    assert all(0 <= index < count + more for index in indices)


@given(SEEDS)
def test_uniform_numbers_stay_between_the_bounds(seed: int) -> None:
    (number,) = draw(Uniform(6, 12), seed)

    assert 6 <= float(number) <= 12


def test_a_new_draw_disturbs_none_of_the_others() -> None:
    before = [Draw(("mu",), Orthonormal(3, 5)), Draw(("v",), Gaussian((3, 5)))]
    after = [before[0], Draw(("x",), Uniform(0, 1)), before[1]]

    one = draw_variant(before, key=b"key", variant="ada")
    two = draw_variant(after, key=b"key", variant="ada")

    assert one.values["mu"].tolist() == two.values["mu"].tolist()
    assert one.values["v"].tolist() == two.values["v"].tolist()


def test_students_get_different_variants() -> None:
    draws = [Draw(("mu",), Orthonormal(3, 5))]
    ada = draw_variant(draws, key=b"key", variant="ada")
    bob = draw_variant(draws, key=b"key", variant="bob")

    assert not np.allclose(ada.values["mu"], bob.values["mu"])


def test_a_computed_draw_uses_those_before_it() -> None:
    scope = FormulaScope(indices={"a": 3}).with_shapes({"u": make_matrix_shape(3, 4)})
    draws = [
        Draw(("a",), DistinctIndices(1, 3)),
        Draw(("u",), Gaussian((3, 4))),
        Draw(("y",), Computed(read_tree("2 u_a", scope))),
    ]
    variant = draw_variant(draws, key=b"key", variant="ada")

    assert variant.values["y"] == pytest.approx(2 * variant.values["u"][variant.indices["a"]])
