"""The numbers behind a picture, for a table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from grader.drawing.plot_text import clean, finite_points, name_key, show_number, show_share
from grader.feedback.plots import QUANTILES, HeatMap, OutputPlane, Picture, WeightBars

#: Where along the line between the two points outputs are counted, in tenths of their distance.
_STEPS = range(11)
#: Larger matrices are cut, because nobody reads as many numbers.
_MOST_SIDE = 32


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as text; the first of each row says what the row is about."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tabulate(picture: Picture) -> list[Table]:
    """The tables of a picture; none where it shows nothing."""
    match picture:
        case WeightBars():
            return _weights(picture)
        case OutputPlane():
            return _outputs(picture)
        case HeatMap():
            return [
                _matrix(clean(caption), matrix)
                for caption, matrix in zip(picture.captions, picture.matrices, strict=True)
                if matrix
            ]
        case _:
            assert_never(picture)


def _weights(picture: WeightBars) -> list[Table]:
    if not picture.quantiles:
        return []
    heads = ("key", *(f"{round(100 * each)} %" for each in QUANTILES))
    rows = tuple(
        (name_key(picture, index), *map(show_number, key))
        for index, key in enumerate(picture.quantiles)
    )
    return [Table("Quantiles of the weights over the key sets", heads, rows)]


def _outputs(picture: OutputPlane) -> list[Table]:
    points = finite_points(picture)
    if not points:
        return []
    first, second = (clean(label) for label in picture.labels)
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
        (names.get(step, show_number(step / 10)), str(count), show_share(count, len(points)))
        for step, count in counts.items()
    ]
    if beyond:
        rows.append(("beyond", str(beyond), show_share(beyond, len(points))))
    heads = ("nearest place along the line", "outputs", "share")
    return [Table(f"Where the {len(points)} outputs lie", heads, tuple(rows))]


def _matrix(caption: str, matrix: tuple[tuple[float, ...], ...]) -> Table:
    columns = range(min(len(matrix[0]), _MOST_SIDE))
    rows = tuple(
        (str(index), *(show_number(row[column], 4) for column in columns))
        for index, row in enumerate(matrix[:_MOST_SIDE])
    )
    is_cut = len(matrix) > _MOST_SIDE or len(matrix[0]) > _MOST_SIDE
    return Table(
        f"{caption}, the first {_MOST_SIDE} rows and columns" if is_cut else caption,
        ("row", *map(str, columns)),
        rows,
    )
