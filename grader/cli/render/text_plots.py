"""Plots as text, readable without colour."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple, assert_never

from rich.text import Text

from grader.drawing.plot_text import (
    MAX_NUMBERS,
    Matrix,
    PlaneView,
    Point,
    compute_axis_range,
    describe_picture,
    find_bin,
    format_key,
    format_number,
    format_short_label,
    list_finite_points,
    normalize_label,
    wrap_lines,
)
from grader.feedback.plots import HeatMap, OutputPlane, Picture, WeightBars

#: Drawings are at least this wide, even on a narrower terminal.
_MIN_WIDTH = 48
_GUTTER = 7
_MARGIN = 3
_ROWS = 8
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_UNIT = "unit of length: from ● to ●"
_FLAT = (f"upwards: share of the outputs; {_UNIT}",)
_DENSE = (f"upwards: distance from the line; {_UNIT}", "· one output  : more  ▒ 2 %  █ 10 %")


def draw_text(picture: Picture, *, width: int = 72) -> Text:
    """Draw the title, the plot and its summary in lines of `width` (at least 48) cells."""
    width = max(width, _MIN_WIDTH)
    match picture:
        case WeightBars():
            body = _draw_bars(picture, width)
        case OutputPlane():
            body = _draw_plane(picture, width)
        case HeatMap():
            body = _draw_heat(picture, width)
        case _:
            assert_never(picture)
    title = [Text(line, style="bold") for line in wrap_lines(normalize_label(picture.title), width)]
    summary = [Text(line) for line in wrap_lines(describe_picture(picture), width)]
    return Text("\n", no_wrap=True).join([*title, *body, *summary])


def _wrap_notes(texts: Sequence[str], width: int) -> list[Text]:
    return [Text(line, style="dim") for text in texts for line in wrap_lines(text, width)]


def _draw_bars(picture: WeightBars, width: int) -> list[Text]:
    if not picture.quantiles:
        return []
    low, high = compute_axis_range(value for key in picture.quantiles for value in key)
    labels = [
        format_short_label(format_key(picture, each), 18) for each in range(len(picture.quantiles))
    ]
    margin = max(map(len, labels)) + 1
    columns = width - margin - 18
    lines = []
    for index, (label, key) in enumerate(zip(labels, picture.quantiles, strict=True)):
        line = f"{label:<{margin}}{_draw_bar(key, low, high, columns)}{format_number(key[2]):>9}"
        if index in picture.named:
            lines.append(
                Text(f"{line} ◀ {format_short_label(picture.named[index], 6)}", style="bold cyan")
            )
        else:
            lines.append(Text(line))
    places = [(0, low), (columns // 2, (low + high) / 2), (columns - 1, high)]
    axis = _place_labels([(place, format_number(value)) for place, value in places], columns)
    legend = f"█ median   ├─┤ from the 5 % to the 95 % quantile over the {picture.called}"
    is_spread = any(key[0] != key[-1] for key in picture.quantiles)
    return [
        *lines,
        Text(" " * margin + axis, style="dim"),
        *_wrap_notes([legend] if is_spread else [], width),
    ]


def _draw_bar(key: Sequence[float], low: float, high: float, columns: int) -> str:
    if not all(map(math.isfinite, key)):
        return " " * columns
    zero, left, tip, right = (
        find_bin((value - low) / (high - low), columns) for value in (0.0, key[0], key[2], key[-1])
    )
    cells = [" "] * columns
    cells[left:right] = "─" * (right - left)
    start, stop = sorted((zero, tip))
    cells[start:stop] = "█" * (stop - start)
    cells[left], cells[right] = ("├", "┤") if left < right else ("│", "│")
    return "".join(cells)


def _place_labels(labels: Iterable[tuple[int, str]], columns: int) -> str:
    cells = [" "] * columns
    for column, label in labels:
        start = max(min(column - len(label) // 2, columns - len(label)), 0)
        cells[start : start + len(label)] = label
    return "".join(cells)


def _draw_plane(picture: OutputPlane, width: int) -> list[Text]:
    points = list_finite_points(picture)
    if not points:
        return []
    view = PlaneView.of(points)
    # With an odd number of columns, one is in the middle.
    columns = (width - _GUTTER - 1) // 2 * 2 + 1
    # If all outputs lie on the line, the height can show how many there are.
    is_flat = max(aside for _, aside in points) <= view.top / 20
    rows = (
        _draw_histogram(points, view, columns) if is_flat else _draw_density(points, view, columns)
    )
    for along, aside in points:
        arrow = view.arrow((along, aside))
        if arrow:
            rows[find_bin(aside / view.top, _ROWS)][view.across(along, columns)] = arrow
    tallest = max(view.histogram(points, columns))
    top = f"{tallest / len(points):.0%}" if is_flat else format_number(view.top)
    lines = [Text(" " * _GUTTER + "".join(row)) for row in reversed(rows)]
    lines[0] = Text(f"{top:>{_GUTTER - 1}} " + "".join(rows[-1]))
    return [
        *lines,
        *_draw_axis(picture, view, columns),
        *_wrap_notes(_FLAT if is_flat else _DENSE, width),
    ]


def _draw_histogram(points: list[Point], view: PlaneView, columns: int) -> list[list[str]]:
    counts = view.histogram(points, columns)
    eighths = [math.ceil(8 * _ROWS * each / max(1, *counts)) for each in counts]
    return [[_EIGHTHS[min(max(each - 8 * row, 0), 8)] for each in eighths] for row in range(_ROWS)]


def _draw_density(points: list[Point], view: PlaneView, columns: int) -> list[list[str]]:
    counts = Counter(
        (find_bin(aside / view.top, _ROWS), view.across(along, columns))
        for along, aside in view.inside(points)
    )
    steps = (1, 2, max(2, 0.02 * len(points)), max(2, 0.1 * len(points)))
    return [
        [" ·:▒█"[sum(counts[row, column] >= step for step in steps)] for column in range(columns)]
        for row in range(_ROWS)
    ]


def _draw_axis(picture: OutputPlane, view: PlaneView, columns: int) -> list[Text]:
    places = [view.across(along, columns) for along in (0, 0.5, 1)]
    line = ["─"] * columns
    for place, sign in zip(places, "●◎●", strict=True):
        line[place] = sign
    room = 2 * (places[1] - places[0]) - 4
    first, second = (format_short_label(label, room) for label in picture.labels)
    under = _place_labels(zip(places, (first, "½", second), strict=True), columns)
    zero = f"{0:>{_GUTTER - 1}} "
    return [Text(zero + "".join(line)), Text(" " * _GUTTER + under, style="bold")]


def _draw_heat(picture: HeatMap, width: int) -> list[Text]:
    entries = [entry for matrix in picture.matrices for row in matrix for entry in row]
    if not entries:
        return []
    count = max(len(row) for matrix in picture.matrices for row in matrix)
    notes = []
    style = _choose_number_style(entries, count, width)
    if style is None:
        limit = max((abs(entry) for entry in entries if math.isfinite(entry)), default=0.0) or 1.0
        style = _Style(
            2, min(count, (width - _MARGIN) // 2), lambda entry: _choose_shade(entry / limit)
        )
        notes = [f"░ ▒ ▓ █ up to ¼, ½, ¾, all of {format_number(limit)}; -█ negative; · nearly 0"]
    if style.room < count:
        notes.append(f"Only the first {style.room} of {count} columns fit.")
    panels = [
        [Text(format_short_label(caption, width), style="italic"), *_draw_panel(matrix, style)]
        for caption, matrix in zip(picture.captions, picture.matrices, strict=True)
    ]
    return [*_arrange_panels(panels, width), *_wrap_notes(notes, width)]


class _Style(NamedTuple):
    """How cells are drawn: their width, how many fit in a row, and their text."""

    cell: int
    room: int
    paint: Callable[[float], str]


def _choose_number_style(entries: list[float], count: int, width: int) -> _Style | None:
    longest = max(len(format_number(entry)) for entry in entries)
    cells = [longest + gap for gap in (2, 1) if _MARGIN + count * (longest + gap) <= width]
    return _Style(cells[0], count, format_number) if cells and count <= MAX_NUMBERS else None


def _draw_panel(matrix: Matrix, style: _Style) -> list[Text]:
    # Narrow cells leave space for every fifth column number only.
    step = 5 if style.cell == 2 else 1
    numbers = [str(column) if column % step == 0 else "" for column in range(style.room)]
    lines = [Text(" " * _MARGIN + _join_cells(numbers, style), style="dim")]
    for index, row in enumerate(matrix):
        label = "" if len(matrix) == 1 else str(index)
        cells = _join_cells([style.paint(entry) for entry in row[: style.room]], style)
        lines.append(Text.assemble((f"{label:>{_MARGIN - 1}} ", "dim"), cells))
    return lines


def _join_cells(texts: list[str], style: _Style) -> str:
    return "".join(f"{text:>{style.cell}}" for text in texts)


def _choose_shade(share: float) -> str:
    if not math.isfinite(share):
        return "?"
    if abs(share) < 0.02:
        return "·"
    shade = "░▒▓█"[math.ceil(4 * abs(share)) - 1]
    return f"-{shade}" if share < 0 else 2 * shade


def _arrange_panels(panels: list[list[Text]], width: int) -> list[Text]:
    # Single rows are placed one above the other, so that their entries line up.
    size = max(line.cell_len for panel in panels for line in panel)
    gap = min(5, width - len(panels) * size)
    if gap < 2 or all(len(panel) <= 3 for panel in panels):
        return [line for panel in panels for line in panel]
    for line in (line for panel in panels[:-1] for line in panel):
        line.pad_right(size + gap - line.cell_len)
    return [Text().join(row) for row in zip_longest(*panels, fillvalue=Text(" " * (size + gap)))]
