"""A pasted text is shown back as the grid that was seen in it."""

from __future__ import annotations

import pytest

from grader.domain.shapes import NUMBER, Kind, Shape
from grader.reading.paste import find_grid

MATRIX = Shape(Kind.MATRIX, 2, 3)
COLUMN = Shape(Kind.COLUMN, 3)


@pytest.mark.parametrize(
    "text",
    [
        "[[1, 2, 3], [4, 5, 6]]",
        "array([[1, 2, 3],\n       [4, 5, 6]])",
        "[1 2 3; 4 5 6]",
        "1,2,3\n4,5,6",
        "1\t2\t3\n4\t5\t6",
        r"\begin{bmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \end{bmatrix}",
    ],
)
def test_every_way_to_write_a_matrix_gives_the_same_grid(text: str) -> None:
    grid = find_grid(text, field="M", shape=MATRIX)

    assert grid is not None
    assert grid.rows == (("1", "2", "3"), ("4", "5", "6"))
    assert not grid.is_vector


def test_cells_stand_as_they_were_written_and_ragged_rows_stay_ragged() -> None:
    grid = find_grid("[[1.50, -2e3], [nan]]", field="M", shape=MATRIX)

    assert grid is not None
    assert grid.rows == (("1.50", "-2e3"), ("nan",))
    assert grid.place((1, 0)) == (1, 0)
    assert grid.place((1,)) == (1, None)


def test_a_vector_is_one_row() -> None:
    grid = find_grid("[1, 2]", field="q", shape=COLUMN)

    assert grid is not None
    assert grid.rows == (("1", "2"),)
    assert grid.place((1,)) == (0, 1)
    assert grid.place(()) is None


@pytest.mark.parametrize("text", ["k_a + k_b", "", "[[[1]]]", "]][["])
def test_where_there_is_no_grid_there_is_none(text: str) -> None:
    assert find_grid(text, field="q", shape=COLUMN) is None


def test_a_number_has_no_grid() -> None:
    assert find_grid("5", field="c", shape=NUMBER) is None
