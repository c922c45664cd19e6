"""What plots say, however they are drawn: labels, scales, summaries, and numbers as tables."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from grader.feedback.plots import QUANTILES, HeatMap, OutputPlane, Picture, WeightBars

Point = tuple[float, float]
Matrix = tuple[tuple[float, ...], ...]

#: Matrices with more columns than this, in an SVG also rows, are shades instead of numbers.
MAX_NUMBERS = 8
#: An output at most this far from the middle counts as near, as in the questions' criteria.
NEAR_DISTANCE = 0.1


def normalize_label(label: str) -> str:
    """A label without line breaks and control characters, which terminals obey and XML forbids."""
    return " ".join("".join(each if each.isprintable() else " " for each in label).split())


def wrap_lines(text: str, width: int) -> list[str]:
    """Wrap a text, without a line that begins with a percent sign."""
    lines = textwrap.wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), width)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def format_number(value: float, digits: int = 3) -> str:
    """A number with few digits and a short exponent, as in 0.125 or 3.2e-5."""
    text = f"{value + 0.0:.{digits}g}"  # Adding zero removes the sign of a negative zero.
    return text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def format_share(part: int, whole: int) -> str:
    """A share in percent; only exact shares read 0 % or 100 %."""
    percent = round(100 * part / whole)
    if percent in (0, 100) and 0 < part < whole:
        return "under 1 %" if percent == 0 else "over 99 %"
    return f"{percent} %"


def format_key(picture: WeightBars, index: int) -> str:
    """A key as students know it, counted from zero: `key 3`, or `key 3 = a`."""
    name = picture.named.get(index)
    return f"key {index}" if name is None else f"key {index} = {normalize_label(name)}"


def format_short_label(label: str, room: int) -> str:
    """A clean label of at most `room` characters."""
    label = normalize_label(label)
    return label if len(label) <= room else label[: room - 1] + "…"


def compute_axis_range(values: Iterable[float]) -> tuple[float, float]:
    """Round bounds around zero and all finite values; (0, 1) if all are zero."""
    finite = [value for value in values if math.isfinite(value)]
    low = -_round_up(max((-value for value in finite), default=0.0))
    high = _round_up(max(finite, default=0.0))
    return (low, high) if low < high else (0.0, 1.0)


def _round_up(value: float) -> float:
    if value < 1e-300:
        return 0.0
    power = 10.0 ** math.floor(math.log10(min(value, 1e300)))
    return next((step * power for step in (1, 2, 5) if value <= step * power), 10 * power)


@dataclass(frozen=True, slots=True)
class PlaneView:
    """The part of the plane that is drawn: `low` to `high` along, 0 to `top` aside."""

    low: float
    high: float
    top: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> PlaneView:
        """The closest view of at least 95 % of the points, so that outliers do not shrink it."""
        views = [cls(0.5 - 0.75 * zoom, 0.5 + 0.75 * zoom, 0.5 * zoom) for zoom in (1, 2, 4)]
        enough = 0.95 * len(points)
        return next((view for view in views if len(view.inside(points)) >= enough), views[-1])

    def inside(self, points: Sequence[Point]) -> list[Point]:
        """The points in view."""
        return [each for each in points if self.arrow(each) is None]

    def arrow(self, point: Point) -> str | None:
        """The direction of a point out of view; None for one in view."""
        along, aside = point
        if along < self.low:
            return "◀"
        if along > self.high:
            return "▶"
        return "▲" if aside > self.top else None

    def across(self, along: float, bins: int) -> int:
        """The bin, of `bins` from `low` to `high`, of a position along the line."""
        return find_bin((along - self.low) / (self.high - self.low), bins)

    def histogram(self, points: Sequence[Point], bins: int) -> list[int]:
        """The number of points in view in each bin along the line."""
        counts = Counter(self.across(along, bins) for along, _ in self.inside(points))
        return [counts[each] for each in range(bins)]


def find_bin(share: float, bins: int) -> int:
    """The bin, of `bins`, of a share of the whole; the nearest for a share outside [0, 1]."""
    # Rounding must not move a position on a border, such as the middle, to the left.
    return min(math.floor(min(max(share, 0.0), 1.0) * bins + 1e-9), bins - 1)


def list_finite_points(picture: OutputPlane) -> list[Point]:
    """The outputs with finite coordinates: none if the two end points are equal."""
    return [each for each in picture.points if all(math.isfinite(value) for value in each)]


def find_largest_difference(picture: HeatMap) -> tuple[int, int] | None:
    """The row and column where two matrices differ most; None if they are equal."""
    first, second = picture.matrices
    gaps = {
        (row, column): _gap(entry, second[row][column])
        for row, entries in enumerate(first)
        for column, entry in enumerate(entries)
    }
    place = max(gaps, key=lambda each: gaps[each], default=None)
    return place if place is not None and gaps[place] > 0 else None


def _gap(first: float, second: float) -> float:
    gap = 0.0 if first == second else abs(first - second)
    return math.inf if math.isnan(gap) else gap


def has_comparable_matrices(picture: HeatMap) -> bool:
    """Whether there are two matrices of the same shape."""
    shapes = [[len(row) for row in matrix] for matrix in picture.matrices]
    return len(shapes) == 2 and shapes[0] == shapes[1]


# Summaries


def describe_picture(picture: Picture) -> str:
    """What a picture shows, in one or two sentences; also its text alternative."""
    match picture:
        case WeightBars():
            return _describe_bars(picture)
        case OutputPlane():
            return _describe_plane(picture)
        case HeatMap():
            return _describe_heat_map(picture)
        case _:
            assert_never(picture)


def _describe_bars(picture: WeightBars) -> str:
    medians = [key[2] for key in picture.quantiles]
    if not medians:
        return "There are no weights to show."
    keys = [index for index in range(len(medians)) if index in picture.named]
    parts = [f"{format_key(picture, each)}: {format_number(medians[each])}" for each in keys]
    others = [index for index in range(len(medians)) if index not in picture.named]
    if others:
        top = max(others, key=lambda index: medians[index])
        word = "the largest of the others" if parts else "the largest"
        parts.append(f"{word}, key {top}: {format_number(medians[top])}")
    return f"Median weights: {'; '.join(parts)}."


def _describe_plane(picture: OutputPlane) -> str:
    points = list_finite_points(picture)
    if not points:
        return "There are no outputs to show."
    first, second = (normalize_label(label) for label in picture.labels)
    if len(points) == 1:
        return _describe_output(points[0], first, second) + _describe_outliers(points)
    away = [each for each in points if _distance(each) > NEAR_DISTANCE]
    left = sum(along < 0.5 for along, _ in away)
    right = sum(along > 0.5 for along, _ in away)
    total = len(points)
    text = (
        f"Of {total} outputs, {format_share(total - len(away), total)} are within "
        f"{NEAR_DISTANCE} of the "
        f"middle, {format_share(left, total)} elsewhere and nearer to {first}, "
        f"{format_share(right, total)} elsewhere and nearer to {second}"
    )
    if left + right < len(away):
        text += f", {format_share(len(away) - left - right, total)} elsewhere and as near to both"
    return f"{text}.{_describe_outliers(points)}"


def _describe_output(point: Point, first: str, second: str) -> str:
    """Where the output lies, for an answer with a single output."""
    distance, along = _distance(point), point[0]
    where = "as near to both" if along == 0.5 else f"nearer to {first if along < 0.5 else second}"
    return (
        f"The output is {format_number(distance)} from the middle, in units of the distance from "
        f"{first} to {second}, and {where}."
    )


def _describe_outliers(points: list[Point]) -> str:
    strays = len(points) - len(PlaneView.of(points).inside(points))
    if not strays:
        return ""
    farthest = format_number(max(_distance(each) for each in points))
    return (
        f" Too far away to be drawn: {format_share(strays, len(points))} (see the arrows at the "
        f"edge); the farthest is {farthest} from the middle."
    )


def _distance(point: Point) -> float:
    return math.hypot(point[0] - 0.5, point[1])


def _describe_heat_map(picture: HeatMap) -> str:
    if not any(row for matrix in picture.matrices for row in matrix):
        return "There are no numbers to show."
    if has_comparable_matrices(picture):
        return _describe_difference(picture)
    entries = [entry for matrix in picture.matrices for row in matrix for entry in row]
    return f"The entries go from {format_number(min(entries))} to {format_number(max(entries))}."


def _describe_difference(picture: HeatMap) -> str:
    place = find_largest_difference(picture)
    if place is None:
        return "No entry differs."
    row, column = place
    first, second = (matrix[row][column] for matrix in picture.matrices)
    where = f"entry {column}" if len(picture.matrices[0]) == 1 else f"row {row}, column {column}"
    return (
        f"Largest difference: {format_number(abs(first - second))} at {where} "
        f"({normalize_label(picture.captions[0])}: {format_number(first)}; "
        f"{normalize_label(picture.captions[1])}: {format_number(second)})."
    )


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
    return [PlotTable(f"Quantiles of the weights over the {picture.called}", heads, rows)]


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
