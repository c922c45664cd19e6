"""Pictures as a standalone SVG file, for light and dark backgrounds, or inline in a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, assert_never
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.drawing.plot_text import (
    MAX_NUMBERS,
    NEAR_DISTANCE,
    Matrix,
    PlaneView,
    Point,
    compute_axis_range,
    describe_picture,
    find_largest_difference,
    format_key,
    format_number,
    format_share,
    format_short_label,
    has_comparable_matrices,
    list_finite_points,
    normalize_label,
)
from grader.drawing.svg_elements import (
    WIDTH,
    add_element,
    add_line,
    add_paragraph,
    add_rect,
    add_text,
    make_svg,
)
from grader.feedback.plots import HeatMap, OutputPlane, Picture, WeightBars

#: The width of the sheet, in pixels.
SHEET_WIDTH = 720
_EDGE = (SHEET_WIDTH - WIDTH) / 2

_STYLE = """
svg { color-scheme: light dark; }
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
  fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.heading { font-size: 14px; font-weight: 600; }
.muted { fill: #59636e; }
.small { font-size: 11px; }
.strong { font-weight: 600; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.sheet { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #e4e9ee; }
.axis { stroke: #8c959f; }
.line { stroke: #59636e; stroke-width: 1.5; fill: none; }
.bar { fill: #dce2e8; }
.box { fill: #a9b4bf; }
.named .line { stroke: #0a4c8c; }
.named .bar { fill: #c5def5; }
.named .box { fill: #6aa9e0; }
.dot { fill: #1a6bb5; fill-opacity: 0.35; }
.count { fill: #9cc3e8; }
.point { fill: none; stroke: #1f2328; stroke-width: 2; }
.target { fill: none; stroke: #b2182b; stroke-width: 2; }
.halo { fill: none; stroke: #ffffff; stroke-width: 5; }
.mark { fill: none; stroke: #1f2328; stroke-width: 2; }
.near { stroke-width: 1; stroke-dasharray: 4 3; }
.stray { stroke: #ffffff; stroke-width: 4; paint-order: stroke; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .muted { fill: #9da7b1; }
  .sheet { fill: #0d1117; stroke: #30363d; }
  .grid { stroke: #232a32; }
  .axis { stroke: #6e7681; }
  .line { stroke: #adb6bf; }
  .bar { fill: #2a3138; }
  .box { fill: #56606a; }
  .named .line { stroke: #b6dcff; }
  .named .bar { fill: #163a5f; }
  .named .box { fill: #2f7ac4; }
  .dot { fill: #79bbf7; }
  .count { fill: #2b5d8f; }
  .point { stroke: #e6edf3; }
  .target { stroke: #ff8f7d; }
  .stray { stroke: #0d1117; }
}
text.dark { fill: #1f2328; }
text.light { fill: #ffffff; }
"""


def draw_svg(pictures: Sequence[Picture], *, title: str) -> str:
    """One SVG document with the pictures below each other, each with its summary."""
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    root.set("aria-labelledby", "title summary")
    SubElement(root, "title", id="title").text = normalize_label(title)
    summaries = [f"{normalize_label(each.title)}: {describe_picture(each)}" for each in pictures]
    SubElement(root, "desc", id="summary").text = " ".join(summaries) or "There is no picture."
    SubElement(root, "style").text = _STYLE
    sheet = add_element(root, "rect", "sheet", x=0.5, y=0.5, width=SHEET_WIDTH - 1, rx=8)
    height = add_paragraph(root, title, 76, "title", x=_EDGE, y=40, leading=22) + 4
    for number, picture in enumerate(pictures):
        group = add_element(root, "g", transform=f"translate({_EDGE:g} {height + 24:g})")
        height += 24 + _draw_picture(group, picture, number)
    sheet.set("height", f"{height + 23:g}")
    root.set("viewBox", f"0 0 {SHEET_WIDTH} {height + 24:g}")
    root.set("width", str(SHEET_WIDTH))
    root.set("height", f"{height + 24:g}")
    return tostring(root, encoding="unicode") + "\n"


def draw_inline(picture: Picture, *, name: str) -> str:
    """One picture as an element for a page, whose style sheet gives the colours.

    `name` is unique on the page, which shows the picture's title above it.
    """
    root = make_svg(picture.title, describe_picture(picture), name=name, style="picture")
    group = add_element(root, "g", transform="translate(4 0)")
    bottom = _draw_body(group, picture, 8.0, name)
    root.set("viewBox", f"0 0 {WIDTH + 8} {bottom + 4:g}")
    return tostring(root, encoding="unicode")


def _draw_picture(group: Element, picture: Picture, number: int) -> float:
    """Draw from (0, 0) on, and return the height."""
    top = add_paragraph(group, picture.title, 84, "heading", y=14, leading=18)
    bottom = _draw_body(group, picture, top, str(number))
    return add_paragraph(group, describe_picture(picture), 104, "muted", y=bottom + 16, leading=17)


def _draw_body(group: Element, picture: Picture, top: float, name: str) -> float:
    match picture:
        case WeightBars():
            return _draw_weight_bars(group, picture, top)
        case OutputPlane():
            return _draw_output_plane(group, picture, top)
        case HeatMap():
            return _draw_heat_map(group, picture, top, name)
        case _:
            assert_never(picture)


_GUTTER = 40


# Weights


def _draw_weight_bars(group: Element, picture: WeightBars, top: float) -> float:
    """Draw the weights from `top` on, and return the bottom."""
    count = len(picture.quantiles)
    if not count:
        return top
    low, high = compute_axis_range(value for key in picture.quantiles for value in key)
    row = 26 if count <= 16 else 18
    bottom = top + 6 + row * count

    def across(value: float) -> float:
        return 116 + (value - low) / (high - low) * (WIDTH - 116 - 76)

    for value in (low + (high - low) * step / 4 for step in range(5)):
        add_line(group, "grid", (across(value), top), (across(value), bottom))
        add_text(group, format_number(value), "muted small middle", x=across(value), y=bottom + 16)
    for index, key in enumerate(picture.quantiles):
        is_named = index in picture.named
        row_group = add_element(group, "g", "named" if is_named else "")
        style, y = "strong" if is_named else "muted", top + 3 + row * (index + 0.5)
        add_text(
            row_group,
            format_short_label(format_key(picture, index), 16),
            f"{style} end",
            x=104,
            y=y + 4,
        )
        add_text(row_group, format_number(key[2]), f"{style} end", x=WIDTH, y=y + 4)
        if all(map(math.isfinite, key)):
            _draw_key(row_group, [across(value) for value in key], across(0), y)
    add_line(group, "axis", (across(0), top), (across(0), bottom))
    return _draw_bar_legend(group, bottom + 40)


def _draw_key(group: Element, places: Sequence[float], zero: float, y: float) -> None:
    least, lower, median, upper, most = places
    add_rect(group, "bar", (zero, y - 7), (median, y + 7))
    add_rect(group, "box", (lower, y - 4), (upper, y + 4))
    add_line(group, "line", (least, y), (most, y))
    for place, reach in ((least, 4), (median, 7), (most, 4)):
        add_line(group, "line", (place, y - reach), (place, y + reach))


def _draw_bar_legend(group: Element, y: float) -> float:
    _draw_key(group, [132, 144, 156, 168, 180], 116, y)
    text = "bar: median;  box: the middle half;  line: from the 5 % to the 95 % quantile"
    add_text(group, text, "muted small", x=192, y=y + 4)
    return y + 14


# Outputs


class _PlaneScale(NamedTuple):
    """Maps points of the plane to pixels."""

    view: PlaneView
    unit: float
    base: float

    def at(self, along: float, aside: float = 0.0) -> Point:
        return _GUTTER + (along - self.view.low) * self.unit, self.base - aside * self.unit


def _draw_output_plane(group: Element, picture: OutputPlane, top: float) -> float:
    """Draw the outputs from `top` on, and return the bottom."""
    points = list_finite_points(picture)
    if not points:
        return top
    view = PlaneView.of(points)
    # With 75 columns, the end points and the middle are centres of columns.
    upper = _draw_histogram(group, view.histogram(points, 75), len(points), top + 8) + 30
    unit = (WIDTH - _GUTTER) / (view.high - view.low)
    needed = max(aside for _, aside in points) * unit + 8
    frame = _PlaneScale(view, unit, upper + min(view.top * unit, max(needed, 64)))
    first, second = (format_short_label(label, 20) for label in picture.labels)
    text = f"Distance from the line, in units of that from {first} to {second}"
    add_text(group, text, "muted small", x=_GUTTER, y=upper - 8)
    _draw_grid(group, frame, upper)
    for along, aside in view.inside(points):
        x, y = frame.at(along, aside)
        add_element(group, "circle", "dot", cx=x, cy=y, r=3)
    _draw_marks(group, frame, picture.labels)
    _draw_strays(group, Counter(view.arrow(each) for each in points), upper + 10, frame.base - 10)
    return frame.base + 38


def _draw_histogram(group: Element, counts: list[int], total: int, top: float) -> float:
    most = format_share(max(counts), total)
    text = f"Share of the outputs along the line, at most {most} in one column"
    add_text(group, text, "muted small", x=_GUTTER, y=top + 6)
    base, step = top + 70, (WIDTH - _GUTTER) / len(counts)
    for place, count in enumerate(counts):
        if count:
            left = _GUTTER + place * step
            height = max(56 * count / max(counts), 1)
            add_rect(group, "count", (left + 0.5, base - height), (left + step - 0.5, base))
    add_line(group, "axis", (_GUTTER, base), (WIDTH, base))
    return base


def _draw_grid(group: Element, frame: _PlaneScale, upper: float) -> None:
    for aside in (step * frame.view.top / 5 for step in range(6)):
        _, y = frame.at(0, aside)
        if y >= upper - 1:
            add_line(group, "grid" if aside else "axis", (_GUTTER, y), (WIDTH, y))
            add_text(group, format_number(aside), "muted small end", x=_GUTTER - 8, y=y + 4)


def _draw_marks(group: Element, frame: _PlaneScale, labels: tuple[str, str]) -> None:
    """Mark the two end points, and the target with a ring around what counts as near."""
    first, second = (format_short_label(label, int(frame.unit / 11)) for label in labels)
    for along, style, label in ((0, "point", first), (0.5, "target", "½"), (1, "point", second)):
        x, y = frame.at(along)
        add_element(group, "circle", style, cx=x, cy=y, r=6)
        add_text(group, label, "strong middle", x=x, y=y + 24)
    (x, y), near = frame.at(0.5 - NEAR_DISTANCE), NEAR_DISTANCE * frame.unit
    # Half a ring, because the distance from the line is never negative.
    arc = f"M {x:.2f} {y:.2f} a {near:.2f} {near:.2f} 0 0 1 {2 * near:.2f} 0"
    add_element(group, "path", "target near", d=arc)


def _draw_strays(group: Element, arrows: Counter[str | None], top: float, base: float) -> None:
    """Write at each edge how many outputs lie beyond it."""
    middle = (WIDTH + _GUTTER) / 2
    edges = (("◀", "", _GUTTER + 4, base), ("▶", "end", WIDTH - 4, base))
    for arrow, style, x, y in (*edges, ("▲", "middle", middle, top)):
        if arrows[arrow]:
            add_text(group, f"{arrow} {arrows[arrow]}", f"strong stray {style}", x=x, y=y)


_INDEX_WIDTH = 24

#: From negative over zero to positive; safe for colour-blind readers.
_DIVERGING_COLOURS = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")


class _Cells(NamedTuple):
    """The size of a heat map's cells; `limit` is the entry with the strongest colour."""

    width: float
    height: float
    limit: float
    has_numbers: bool


def _draw_heat_map(group: Element, picture: HeatMap, top: float, name: str) -> float:
    """Draw the matrices from `top` on, and return the bottom."""
    sizes = [len(row) for matrix in picture.matrices for row in matrix]
    columns = max(sizes, default=0)
    if not columns:
        return top
    rows = max(len(matrix) for matrix in picture.matrices)
    has_numbers = max(rows, columns) <= MAX_NUMBERS
    half = (WIDTH - 24) / 2
    # Single rows are stacked, so that their entries line up.
    is_beside = rows > 1 < len(picture.matrices) and (half - _INDEX_WIDTH) / columns >= (
        48 if has_numbers else 8
    )
    width = min(
        ((half if is_beside else WIDTH) - _INDEX_WIDTH) / columns, 60 if has_numbers else 22
    )
    # Between whole pixels there would be seams.
    width = int(width) or width
    cells = _Cells(width, 30 if has_numbers else width, _find_largest_entry(picture), has_numbers)
    mark = find_largest_difference(picture) if has_comparable_matrices(picture) else None
    bottom = top
    for place, (caption, matrix) in enumerate(zip(picture.captions, picture.matrices, strict=True)):
        x, y = (place * (half + 24), top) if is_beside else (0.0, bottom)
        panel = add_element(group, "g", transform=f"translate({x:g} {y:g})")
        bottom = max(bottom, y + _draw_matrix(panel, caption, matrix, cells, mark))
    return bottom if has_numbers else _draw_colour_legend(group, cells.limit, name, bottom)


def _find_largest_entry(picture: HeatMap) -> float:
    entries = [abs(entry) for matrix in picture.matrices for row in matrix for entry in row]
    return max(filter(math.isfinite, entries), default=0.0) or 1.0


def _draw_matrix(
    panel: Element, caption: str, matrix: Matrix, cells: _Cells, mark: tuple[int, int] | None
) -> float:
    """Draw one matrix with its caption and indices, and return the height."""
    add_text(panel, format_short_label(caption, 44), "muted", x=_INDEX_WIDTH, y=14)
    # In narrow cells, not every index has room.
    step = 1 if cells.width >= 20 else 5
    for column in range(0, len(matrix[0]) if matrix else 0, step):
        x = _INDEX_WIDTH + (column + 0.5) * cells.width
        add_text(panel, str(column), "muted small middle", x=x, y=34)
    for index, row in enumerate(matrix):
        y = 40 + index * cells.height
        if len(matrix) > 1 and index % step == 0:
            add_text(
                panel, str(index), "muted small end", x=_INDEX_WIDTH - 6, y=y + cells.height / 2 + 4
            )
        for column, entry in enumerate(row):
            _draw_cell(panel, entry, _INDEX_WIDTH + column * cells.width, y, cells)
    if mark is not None:
        x, y = _INDEX_WIDTH + mark[1] * cells.width, 40 + mark[0] * cells.height
        # Dark on light is visible on every colour of the scale.
        for style in ("halo", "mark"):
            add_rect(panel, style, (x, y), (x + cells.width - 1, y + cells.height - 1))
    return 48 + len(matrix) * cells.height


def _draw_cell(panel: Element, entry: float, x: float, y: float, cells: _Cells) -> None:
    share = entry / cells.limit if math.isfinite(entry) else 0.0
    colour = _mix_colour(share)
    gap = 1 if cells.width >= 10 else 0
    add_rect(panel, "", (x, y), (x + cells.width - gap, y + cells.height - gap), fill=colour)
    if cells.has_numbers:
        texts = [format_number(entry, digits) for digits in (3, 2, 1)]
        text = next((each for each in texts if 6.6 * len(each) < cells.width - 2), texts[-1])
        ink = "light" if abs(share) > 0.8 else "dark"
        x, y = x + cells.width / 2, y + cells.height / 2 + 4
        add_text(panel, text, f"small middle {ink}", x=x, y=y)


def _mix_colour(share: float) -> str:
    """The colour of a share between -1 and 1, interpolated in the scale."""
    place = (share + 1) / 2 * (len(_DIVERGING_COLOURS) - 1)
    lower = min(int(place), len(_DIVERGING_COLOURS) - 2)
    parts = [
        [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        for colour in _DIVERGING_COLOURS[lower : lower + 2]
    ]
    mixed = [round(a + (b - a) * (place - lower)) for a, b in zip(*parts, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _draw_colour_legend(group: Element, limit: float, name: str, top: float) -> float:
    gradient = add_element(group, "linearGradient", id=f"scale-{name}")
    for place, colour in enumerate(_DIVERGING_COLOURS):
        add_element(
            gradient, "stop", offset=place / (len(_DIVERGING_COLOURS) - 1), stop_color=colour
        )
    fill = f"url(#scale-{name})"
    add_rect(group, "", (_INDEX_WIDTH, top + 8), (_INDEX_WIDTH + 240, top + 18), fill=fill)
    for place, value in enumerate((-limit, 0, limit)):
        x = _INDEX_WIDTH + 120 * place
        style = ("", "middle", "end")[place]
        add_text(group, format_number(value), f"muted small {style}", x=x, y=top + 34)
    return top + 42
