"""Bar charts and step charts as SVG for a page, whose style sheet gives the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, tostring

from grader.drawing.plot_text import format_short_label, normalize_label
from grader.drawing.svg_elements import add_element, add_line, add_rect, add_text, make_svg

#: Narrow enough for a phone, where the whole picture shrinks with its text.
_WIDTH, _HEIGHT = 440.0, 150.0
#: About the width of a small letter.
_LETTER_WIDTH = 6.4


@dataclass(frozen=True, slots=True)
class Bar:
    """A count with its label; a column that stands out is drawn stronger."""

    label: str
    count: int
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A vertical line; `at` counts columns, so that 1 is the left edge of the second."""

    label: str
    at: float


@dataclass(frozen=True, slots=True)
class _PlotArea:
    """The area between the margins; `x` and `y` map shares of its width and height to pixels."""

    left: float
    right: float
    top: float

    @property
    def bottom(self) -> float:
        return self.top + _HEIGHT

    def x(self, share: float) -> float:
        return self.left + min(max(share, 0.0), 1.0) * (_WIDTH - self.left - self.right)

    def y(self, share: float) -> float:
        return self.bottom - share * _HEIGHT

    def draw_grid(self, root: Element, labels: tuple[str, str, str]) -> None:
        """Draw the lines at the bottom, halfway and at the top, with their labels."""
        for share, label in zip((0.0, 0.5, 1.0), labels, strict=True):
            y = self.y(share)
            style = "grid" if share else "axis"
            add_line(root, style, (self.left, y), (_WIDTH - self.right, y))
            add_text(root, label, "muted small end", x=self.left - 6, y=y + 4)

    def finish(self, root: Element, below: str) -> str:
        """Add the caption of the horizontal axis, and return the SVG."""
        height = self.bottom + (40 if below else 22)
        if below:
            x = (self.left + _WIDTH) / 2
            add_text(root, format_short_label(below, 60), "muted small middle", x=x, y=height - 6)
        root.set("viewBox", f"0 0 {_WIDTH:g} {height:g}")
        return tostring(root, encoding="unicode")


_BAR_AREA = _PlotArea(left=34.0, right=6.0, top=30.0)
_STEP_AREA = _PlotArea(left=44.0, right=10.0, top=22.0)


def draw_bar_chart(
    columns: Sequence[Bar],
    *,
    name: str,
    title: str,
    summary: str,
    below: str = "",
    mark: ReferenceLine | None = None,
    band: tuple[float, float] | None = None,
) -> str:
    """A bar chart as an SVG element of the class `picture`, with its counts as text.

    Parameters
    ----------
    columns
        From left to right; without any, only the axis is drawn.
    name
        Unique on the page.
    title, summary
        A text alternative for screen readers.
    below
        The caption of the horizontal axis, such as "points".
    mark, band
        A line, such as a median, and a range, such as the middle half, both in columns.
    """
    root = make_svg(title, summary, name=name, style="picture chart")
    count = max(len(columns), 1)
    top = _round_up_count(max((each.count for each in columns), default=0))
    _BAR_AREA.draw_grid(root, ("0", str(top // 2), str(top)))
    if band is not None:
        start, stop = (_BAR_AREA.x(each / count) for each in sorted(band))
        add_rect(root, "band", (start, _BAR_AREA.top), (stop, _BAR_AREA.bottom))
    _draw_bars(root, columns, top)
    if mark is not None:
        _draw_reference_line(root, mark.label, _BAR_AREA.x(mark.at / count))
    return _BAR_AREA.finish(root, below)


def _round_up_count(count: int) -> int:
    """The next round number that is even, for the label halfway."""
    if count <= 2:
        return 2
    power: int = 10 ** (len(str(count)) - 1)
    steps = (step * power for step in (1, 2, 4, 6, 8, 10))
    return next(each for each in steps if each >= count and each % 2 == 0)


def _draw_bars(root: Element, columns: Sequence[Bar], top: int) -> None:
    room = _BAR_AREA.x(1 / max(len(columns), 1)) - _BAR_AREA.left
    gap = min(room * 0.12, 4)
    # In narrow columns not every label has room; the table beside the chart has them all.
    longest = max((len(normalize_label(each.label)) for each in columns), default=1)
    needed = min(longest, 12) * _LETTER_WIDTH
    step = 1 if needed <= room else math.ceil((needed + _LETTER_WIDTH) / room)
    # All counts or none: counts on some columns only would mislead.
    has_counts = len(str(max((each.count for each in columns), default=0))) * _LETTER_WIDTH <= room
    for place, each in enumerate(columns):
        group = add_element(root, "g", "named" if each.stands_out else "")
        left = _BAR_AREA.left + place * room + gap / 2
        middle, y = left + (room - gap) / 2, _BAR_AREA.y(each.count / top)
        if each.count:
            add_rect(group, "count", (left, y), (left + room - gap, _BAR_AREA.bottom))
            if has_counts:
                add_text(group, str(each.count), "small middle", x=middle, y=y - 4)
        if place % step == 0:
            label = format_short_label(each.label, 12)
            reach = len(label) * _LETTER_WIDTH / 2
            x = min(max(middle, reach), _WIDTH - reach)
            add_text(group, label, "muted small middle", x=x, y=_BAR_AREA.bottom + 15)


def _draw_reference_line(root: Element, label: str, x: float) -> None:
    top = _BAR_AREA.top
    add_line(root, "median", (x, top - 12), (x, _BAR_AREA.bottom))
    style = "start" if x < _WIDTH / 3 else "end" if x > _WIDTH * 2 / 3 else "middle"
    add_text(root, format_short_label(label, 40), f"small strong {style}", x=x, y=top - 16)


def draw_step_chart(
    shares: Sequence[float], *, name: str, title: str, summary: str, below: str = ""
) -> str:
    """A falling line in steps as an SVG element of the class `picture`.

    Parameters
    ----------
    shares
        What is left after the first try, after the second, and so on, each between 0 and 1. Before
        the first it is 1; without any, only the axes are drawn.
    name, title, summary, below
        As for `draw_bar_chart`.
    """
    root = make_svg(title, summary, name=name, style="picture chart")
    _STEP_AREA.draw_grid(root, ("0%", "50%", "100%"))
    if shares:
        _draw_steps(root, shares)
    return _STEP_AREA.finish(root, below)


def _draw_steps(root: Element, shares: Sequence[float]) -> None:
    area = _STEP_AREA
    # One more place, so that the last step has a tread too.
    places = len(shares) + 1
    room = area.x(1 / places) - area.left
    steps = [(area.x(place / places), share) for place, share in enumerate(shares, start=1)]
    outline = " ".join(
        [
            f"M{area.left:g} {area.y(1.0):g}",
            *(f"H{x:.2f} V{area.y(share):.2f}" for x, share in steps),
            f"H{_WIDTH - area.right:g}",
        ]
    )
    add_element(root, "path", "under", d=f"{outline} V{area.bottom:g} H{area.left:g} Z")
    add_element(root, "path", "steps", d=outline)
    # In narrow steps not every place has room for its number.
    every = int(28 // room) + 1 if room < 28 else 1
    for place, (x, share) in enumerate(steps, start=1):
        if place % every == 0 or place == 1:
            add_text(root, str(place), "muted small middle", x=x, y=area.bottom + 15)
        if room >= 34:
            add_text(root, f"{share:.0%}", "small", x=x + 4, y=area.y(share) - 5)
