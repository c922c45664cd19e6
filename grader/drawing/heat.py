"""Matrices as SVG."""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element

from grader.drawing.plot_text import (
    MOST_NUMBERS,
    Matrix,
    are_comparable,
    largest_difference,
    shorten,
    show_number,
)
from grader.drawing.svg_elements import WIDTH, add, rect, say
from grader.feedback.plots import HeatMap

_INDEX = 24

#: From negative over zero to positive; these blues and reds differ for colour-blind eyes too.
_DIVERGING = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")


class _Cells(NamedTuple):
    """How the cells of a picture are drawn; `limit` is the entry with the strongest colour."""

    width: float
    height: float
    limit: float
    has_numbers: bool


def draw_heat(group: Element, picture: HeatMap, top: float, name: str) -> float:
    """Draw the matrices from `top` on, and return where the drawing ends."""
    sizes = [len(row) for matrix in picture.matrices for row in matrix]
    columns = max(sizes, default=0)
    if not columns:
        return top
    rows = max(len(matrix) for matrix in picture.matrices)
    has_numbers = max(rows, columns) <= MOST_NUMBERS
    half = (WIDTH - 24) / 2
    # Single rows stand one above the other, so that their entries line up.
    is_beside = rows > 1 < len(picture.matrices) and (half - _INDEX) / columns >= (
        48 if has_numbers else 8
    )
    width = min(((half if is_beside else WIDTH) - _INDEX) / columns, 60 if has_numbers else 22)
    # Between whole pixels there would be seams.
    width = int(width) or width
    cells = _Cells(width, 30 if has_numbers else width, _strongest(picture), has_numbers)
    mark = largest_difference(picture) if are_comparable(picture) else None
    bottom = top
    for place, (caption, matrix) in enumerate(zip(picture.captions, picture.matrices, strict=True)):
        x, y = (place * (half + 24), top) if is_beside else (0.0, bottom)
        panel = add(group, "g", transform=f"translate({x:g} {y:g})")
        bottom = max(bottom, y + _draw_matrix(panel, caption, matrix, cells, mark))
    return bottom if has_numbers else _explain_colours(group, cells.limit, name, bottom)


def _strongest(picture: HeatMap) -> float:
    entries = [abs(entry) for matrix in picture.matrices for row in matrix for entry in row]
    return max(filter(math.isfinite, entries), default=0.0) or 1.0


def _draw_matrix(
    panel: Element, caption: str, matrix: Matrix, cells: _Cells, mark: tuple[int, int] | None
) -> float:
    """Draw one matrix with its caption and indices, and return the height that is used."""
    say(panel, shorten(caption, 44), "muted", x=_INDEX, y=14)
    # Where cells are narrow, not every index has room.
    step = 1 if cells.width >= 20 else 5
    for column in range(0, len(matrix[0]) if matrix else 0, step):
        x = _INDEX + (column + 0.5) * cells.width
        say(panel, str(column), "muted small middle", x=x, y=34)
    for index, row in enumerate(matrix):
        y = 40 + index * cells.height
        if len(matrix) > 1 and index % step == 0:
            say(panel, str(index), "muted small end", x=_INDEX - 6, y=y + cells.height / 2 + 4)
        for column, entry in enumerate(row):
            _draw_cell(panel, entry, _INDEX + column * cells.width, y, cells)
    if mark is not None:
        x, y = _INDEX + mark[1] * cells.width, 40 + mark[0] * cells.height
        # Dark on light is seen on every colour of the scale.
        for style in ("halo", "mark"):
            rect(panel, style, (x, y), (x + cells.width - 1, y + cells.height - 1))
    return 48 + len(matrix) * cells.height


def _draw_cell(panel: Element, entry: float, x: float, y: float, cells: _Cells) -> None:
    share = entry / cells.limit if math.isfinite(entry) else 0.0
    colour = _colour(share)
    gap = 1 if cells.width >= 10 else 0
    rect(panel, "", (x, y), (x + cells.width - gap, y + cells.height - gap), fill=colour)
    if cells.has_numbers:
        texts = [show_number(entry, digits) for digits in (3, 2, 1)]
        text = next((each for each in texts if 6.6 * len(each) < cells.width - 2), texts[-1])
        ink = "light" if abs(share) > 0.8 else "dark"
        x, y = x + cells.width / 2, y + cells.height / 2 + 4
        say(panel, text, f"small middle {ink}", x=x, y=y)


def _colour(share: float) -> str:
    """The colour of a share between -1 and 1, between the two nearest of the scale."""
    place = (share + 1) / 2 * (len(_DIVERGING) - 1)
    lower = min(int(place), len(_DIVERGING) - 2)
    parts = [
        [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        for colour in _DIVERGING[lower : lower + 2]
    ]
    mixed = [round(a + (b - a) * (place - lower)) for a, b in zip(*parts, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _explain_colours(group: Element, limit: float, name: str, top: float) -> float:
    gradient = add(group, "linearGradient", id=f"scale-{name}")
    for place, colour in enumerate(_DIVERGING):
        add(gradient, "stop", offset=place / (len(_DIVERGING) - 1), stop_color=colour)
    fill = f"url(#scale-{name})"
    rect(group, "", (_INDEX, top + 8), (_INDEX + 240, top + 18), fill=fill)
    for place, value in enumerate((-limit, 0, limit)):
        x = _INDEX + 120 * place
        style = ("", "middle", "end")[place]
        say(group, show_number(value), f"muted small {style}", x=x, y=top + 34)
    return top + 42
