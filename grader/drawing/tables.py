"""The numbers of a picture as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from grader.drawing.plot_text import (
    format_key,
    format_number,
    format_share,
    list_finite_points,
    normalize_label,
)
from grader.feedback.plots import QUANTILES, HeatMap, OutputPlane, Picture, WeightBars

#: The positions along the line at which outputs are counted, in tenths of its length.
_STEPS = range(11)
#: Larger matrices are cut; nobody reads that many numbers.
_MAX_SIDE = 32


@dataclass(frozen=True, slots=True)
class PlotTable:
    """Numbers as text; the first cell of each row is its heading."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build_tables(picture: Picture) -> list[PlotTable]:
    """The tables of a picture; none if it is empty."""
    match picture:
        case WeightBars():
            return _weights(picture)
        case OutputPlane():
            return _outputs(picture)
        case HeatMap():
            return [
                _matrix(normalize_label(caption), matrix)
                for caption, matrix in zip(picture.captions, picture.matrices, strict=True)
                if matrix
            ]
        case _:
            assert_never(picture)


def _weights(picture: WeightBars) -> list[PlotTable]:
    if not picture.quantiles:
        return []
    heads = ("key", *(f"{round(100 * each)} %" for each in QUANTILES))
    rows = tuple(
        (format_key(picture, index), *map(format_number, key))
        for index, key in enumerate(picture.quantiles)
    )
    return [PlotTable("Quantiles of the weights over the key sets", heads, rows)]


def _outputs(picture: OutputPlane) -> list[PlotTable]:
    points = list_finite_points(picture)
    if not points:
        return []
    first, second = (normalize_label(label) for label in picture.labels)
    names = {0: f"0 ({first})", 5: "0.5 (the target)", 10: f"1 ({second})"}
    counts = dict.fromkeys(_STEPS, 0)
    beyond = 0
    for along, _ in points:
        step = round(10 * along)
        if step in counts:
            counts[step] += 1
        else:
            beyond += 1
    rows = [
        (names.get(step, format_number(step / 10)), str(count), format_share(count, len(points)))
        for step, count in counts.items()
    ]
    if beyond:
        rows.append(("beyond", str(beyond), format_share(beyond, len(points))))
    heads = ("nearest position along the line", "outputs", "share")
    return [PlotTable(f"Where the {len(points)} outputs lie", heads, tuple(rows))]


def _matrix(caption: str, matrix: tuple[tuple[float, ...], ...]) -> PlotTable:
    columns = range(min(len(matrix[0]), _MAX_SIDE))
    rows = tuple(
        (str(index), *(format_number(row[column], 4) for column in columns))
        for index, row in enumerate(matrix[:_MAX_SIDE])
    )
    is_cut = len(matrix) > _MAX_SIDE or len(matrix[0]) > _MAX_SIDE
    return PlotTable(
        f"{caption}, the first {_MAX_SIDE} rows and columns" if is_cut else caption,
        ("row", *map(str, columns)),
        rows,
    )
