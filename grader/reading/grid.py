"""The grid of cells in a pasted text, so that a page can show it with its errors."""

from __future__ import annotations

from dataclasses import dataclass

from grader.domain.shapes import Shape
from grader.errors import AnswerRefused
from grader.reading.cells import Cell, Tree, normalize_signs, remove_wrapper, split_cells
from grader.reading.locations import FieldLocation
from grader.reading.paste import is_pasted_array


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells as they were written; a vector is one row."""

    rows: tuple[tuple[str, ...], ...]
    is_vector: bool

    def place(self, path: tuple[int, ...]) -> tuple[int, int | None] | None:
        """The row and the entry of an error's path; the entry is None for an error of a whole row.

        None where the error has no single place.
        """
        if not path:
            return None
        if self.is_vector:
            return 0, path[0]
        return path[0], path[1] if len(path) > 1 else None


def find_grid(text: str, *, field: str, shape: Shape) -> Grid | None:
    """The grid in a text of numbers; None where there is no grid."""
    if not is_pasted_array(text, shape=shape):
        return None
    try:
        _, tree = split_cells(remove_wrapper(normalize_signs(text)), FieldLocation(field, shape))
    except AnswerRefused:
        return None
    return _find_grid_in(tree)


def _find_grid_in(tree: Tree) -> Grid | None:
    if isinstance(tree, Cell):
        return None
    if all(isinstance(each, Cell) for each in tree):
        return Grid((_texts(tree),), is_vector=True)
    if any(isinstance(each, Cell) or not _is_flat(each) for each in tree):
        return None
    return Grid(tuple(_texts(each) for each in tree), is_vector=False)


def _is_flat(tree: Tree) -> bool:
    return not isinstance(tree, Cell) and all(isinstance(each, Cell) for each in tree)


def _texts(tree: Tree) -> tuple[str, ...]:
    return () if isinstance(tree, Cell) else tuple(e.text for e in tree if isinstance(e, Cell))
