"""Weights and outputs as SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from grader.drawing.plot_text import (
    NEAR,
    Point,
    View,
    finite_points,
    name_key,
    scale_of,
    shorten,
    show_number,
    show_share,
)
from grader.drawing.svg_elements import WIDTH, add, line, rect, say
from grader.feedback.plots import OutputPlane, WeightBars

_GUTTER = 40


# Weights


def draw_bars(group: Element, picture: WeightBars, top: float) -> float:
    """Draw the weights from `top` on, and return where the drawing ends."""
    count = len(picture.quantiles)
    if not count:
        return top
    low, high = scale_of(value for key in picture.quantiles for value in key)
    row = 26 if count <= 16 else 18
    bottom = top + 6 + row * count

    def across(value: float) -> float:
        return 116 + (value - low) / (high - low) * (WIDTH - 116 - 76)

    for value in (low + (high - low) * step / 4 for step in range(5)):
        line(group, "grid", (across(value), top), (across(value), bottom))
        say(group, show_number(value), "muted small middle", x=across(value), y=bottom + 16)
    for index, key in enumerate(picture.quantiles):
        is_named = index in picture.named
        row_group = add(group, "g", "named" if is_named else "")
        style, y = "strong" if is_named else "muted", top + 3 + row * (index + 0.5)
        say(row_group, shorten(name_key(picture, index), 16), f"{style} end", x=104, y=y + 4)
        say(row_group, show_number(key[2]), f"{style} end", x=WIDTH, y=y + 4)
        if all(map(math.isfinite, key)):
            _draw_key(row_group, [across(value) for value in key], across(0), y)
    line(group, "axis", (across(0), top), (across(0), bottom))
    return _explain_bars(group, bottom + 40)


def _draw_key(group: Element, places: Sequence[float], zero: float, y: float) -> None:
    least, lower, median, upper, most = places
    rect(group, "bar", (zero, y - 7), (median, y + 7))
    rect(group, "box", (lower, y - 4), (upper, y + 4))
    line(group, "line", (least, y), (most, y))
    for place, reach in ((least, 4), (median, 7), (most, 4)):
        line(group, "line", (place, y - reach), (place, y + reach))


def _explain_bars(group: Element, y: float) -> float:
    _draw_key(group, [132, 144, 156, 168, 180], 116, y)
    text = "bar: median;  box: the middle half;  line: from the 5 % to the 95 % quantile"
    say(group, text, "muted small", x=192, y=y + 4)
    return y + 14


# Outputs


class _Frame(NamedTuple):
    """Where places in the plane come to lie on the sheet."""

    view: View
    unit: float
    base: float

    def at(self, along: float, aside: float = 0.0) -> Point:
        return _GUTTER + (along - self.view.low) * self.unit, self.base - aside * self.unit


def draw_plane(group: Element, picture: OutputPlane, top: float) -> float:
    """Draw the outputs from `top` on, and return where the drawing ends."""
    points = finite_points(picture)
    if not points:
        return top
    view = View.of(points)
    # With this number of columns the end points and the middle are centres of columns.
    upper = _draw_histogram(group, view.histogram(points, 75), len(points), top + 8) + 30
    unit = (WIDTH - _GUTTER) / (view.high - view.low)
    needed = max(aside for _, aside in points) * unit + 8
    frame = _Frame(view, unit, upper + min(view.top * unit, max(needed, 64)))
    first, second = (shorten(label, 20) for label in picture.labels)
    text = f"Distance from the line, in units of that from {first} to {second}"
    say(group, text, "muted small", x=_GUTTER, y=upper - 8)
    _draw_grid(group, frame, upper)
    for along, aside in view.inside(points):
        x, y = frame.at(along, aside)
        add(group, "circle", "dot", cx=x, cy=y, r=3)
    _draw_marks(group, frame, picture.labels)
    _draw_strays(group, Counter(view.arrow(each) for each in points), upper + 10, frame.base - 10)
    return frame.base + 38


def _draw_histogram(group: Element, counts: list[int], total: int, top: float) -> float:
    most = show_share(max(counts), total)
    text = f"Share of the outputs along the line, at most {most} in one column"
    say(group, text, "muted small", x=_GUTTER, y=top + 6)
    base, step = top + 70, (WIDTH - _GUTTER) / len(counts)
    for place, count in enumerate(counts):
        if count:
            left = _GUTTER + place * step
            height = max(56 * count / max(counts), 1)
            rect(group, "count", (left + 0.5, base - height), (left + step - 0.5, base))
    line(group, "axis", (_GUTTER, base), (WIDTH, base))
    return base


def _draw_grid(group: Element, frame: _Frame, upper: float) -> None:
    for aside in (step * frame.view.top / 5 for step in range(6)):
        _, y = frame.at(0, aside)
        if y >= upper - 1:
            line(group, "grid" if aside else "axis", (_GUTTER, y), (WIDTH, y))
            say(group, show_number(aside), "muted small end", x=_GUTTER - 8, y=y + 4)


def _draw_marks(group: Element, frame: _Frame, labels: tuple[str, str]) -> None:
    """Mark the two end points, and the target with the ring of what counts as near to it."""
    first, second = (shorten(label, int(frame.unit / 11)) for label in labels)
    for along, style, label in ((0, "point", first), (0.5, "target", "½"), (1, "point", second)):
        x, y = frame.at(along)
        add(group, "circle", style, cx=x, cy=y, r=6)
        say(group, label, "strong middle", x=x, y=y + 24)
    (x, y), near = frame.at(0.5 - NEAR), NEAR * frame.unit
    # It is half a ring, because the distance from the line is never negative.
    arc = f"M {x:.2f} {y:.2f} a {near:.2f} {near:.2f} 0 0 1 {2 * near:.2f} 0"
    add(group, "path", "target near", d=arc)


def _draw_strays(group: Element, arrows: Counter[str | None], top: float, base: float) -> None:
    """Say at each edge how many outputs lie beyond it."""
    middle = (WIDTH + _GUTTER) / 2
    edges = (("◀", "", _GUTTER + 4, base), ("▶", "end", WIDTH - 4, base))
    for arrow, style, x, y in (*edges, ("▲", "middle", middle, top)):
        if arrows[arrow]:
            say(group, f"{arrow} {arrows[arrow]}", f"strong stray {style}", x=x, y=y)
