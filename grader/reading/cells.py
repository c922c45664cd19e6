"""The cells of a pasted text, each at its place, and the values they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands where a number should, and where; empty between two commas."""

    text: str
    start: int


Tree: TypeAlias = "Sequence[Tree] | Cell"

VALUE = re.compile(
    r"(?P<integer>[-+]?[0-9]++)"
    r"|(?P<decimal>[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<nan>[-+]?(?:(?:np|numpy|math|torch)\.)?nan)"
    r"|(?P<infinite>[-+]?(?:(?:(?:np|numpy|math|torch)\.)?inf(?:inity)?|\\infty))"
    r"|(?P<true>true)|(?P<false>false)|(?P<null>null|none)"
    r"|(?P<ellipsis>\.\.\.|…|\\[cdlv]?dots)",
    re.IGNORECASE,
)
_MAX_DIGITS = 310


def is_value(word: str) -> bool:
    """Whether a word stands for a value: a number, NaN, a truth, nothing or an ellipsis."""
    return VALUE.fullmatch(word) is not None


def _read_value(word: str) -> object:
    """What a word that is a value stands for, as decoded JSON would have it."""
    found = VALUE.fullmatch(word)
    match found and found.lastgroup:
        # Python takes no integer of thousands of digits; as a float it is infinite and refused.
        case "integer" if len(word) <= _MAX_DIGITS:
            return int(word)
        case "integer" | "decimal":
            return float(word)
        case "nan":
            return math.nan
        case "infinite":
            return math.inf
        case "true" | "false" as truth:
            return truth == "true"
        case _:
            return None


def list_cells(tree: Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Cell]]:
    """Every cell with its path, in the order of the text."""
    if isinstance(tree, Cell):
        yield path, tree
        return
    for index, branch in enumerate(tree):
        yield from list_cells(branch, (*path, index))


def read_values(tree: Tree) -> object:
    """The values of all cells, nested like the cells."""
    if isinstance(tree, Cell):
        return _read_value(tree.text)
    return [read_values(branch) for branch in tree]


def find_column(tree: Tree, path: tuple[int, ...]) -> int | None:
    """Where in the text the cell of this path stands; None for a path to a whole row."""
    for index in path:
        if not isinstance(tree, Cell):
            tree = tree[index]
    return tree.start + 1 if isinstance(tree, Cell) else None
