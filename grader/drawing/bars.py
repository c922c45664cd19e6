"""Counts as columns: a bar chart for a page, whose style sheet gives the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.drawing.plot_text import clean, shorten
from grader.drawing.svg_elements import add, line, rect, say

#: Narrow enough to be read on a telephone, where the whole picture shrinks with its text.
_WIDTH, _HEIGHT = 440.0, 150.0
_LEFT, _RIGHT, _TOP = 34.0, 6.0, 30.0
#: About the width of a small letter.
_LETTER = 6.4


@dataclass(frozen=True, slots=True)
class Column:
    """How many there are of something; columns that stand out are drawn stronger."""

    label: str
    count: int
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across the columns: at 0 the left edge of the first one, at 1 that of the second."""

    label: str
    at: float


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where columns and counts come to lie."""

    columns: int
    most: int

    @property
    def bottom(self) -> float:
        return _TOP + _HEIGHT

    def across(self, place: float) -> float:
        share = min(max(place / self.columns, 0.0), 1.0)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def up(self, count: float) -> float:
        return self.bottom - count / self.most * _HEIGHT


def draw_columns(
    columns: Sequence[Column],
    *,
    name: str,
    title: str,
    summary: str,
    below: str = "",
    mark: Mark | None = None,
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
        What is shown, and what it comes to, for those who cannot see it.
    below
        What the labels mean, as in "points".
    mark, band
        A line, such as a median, and a stretch, such as the middle half, both counted in columns.
    """
    root = Element("svg", {"role": "img", "class": "picture chart"})
    root.set("aria-labelledby", f"{name}-title {name}-summary")
    SubElement(root, "title", id=f"{name}-title").text = clean(title)
    SubElement(root, "desc", id=f"{name}-summary").text = clean(summary)
    frame = _Frame(max(len(columns), 1), _top_of(max((each.count for each in columns), default=0)))
    _draw_scale(root, frame)
    if band is not None:
        start, stop = (frame.across(each) for each in sorted(band))
        rect(root, "band", (start, _TOP), (stop, frame.bottom))
    _draw_all(root, columns, frame)
    if mark is not None:
        _draw_mark(root, mark, frame)
    height = frame.bottom + (40 if below else 22)
    if below:
        middle = (_LEFT + _WIDTH) / 2
        say(root, shorten(below, 60), "muted small middle", x=middle, y=height - 6)
    root.set("viewBox", f"0 0 {_WIDTH:g} {height:g}")
    return tostring(root, encoding="unicode")


def _top_of(most: int) -> int:
    """A round number that no count is above, and that has a whole half."""
    if most <= 2:
        return 2
    power: int = 10 ** (len(str(most)) - 1)
    steps = (step * power for step in (1, 2, 4, 6, 8, 10))
    return next(each for each in steps if each >= most and each % 2 == 0)


def _draw_scale(root: Element, frame: _Frame) -> None:
    for count in (0, frame.most // 2, frame.most):
        style = "grid" if count else "axis"
        line(root, style, (_LEFT, frame.up(count)), (_WIDTH - _RIGHT, frame.up(count)))
        say(root, str(count), "muted small end", x=_LEFT - 6, y=frame.up(count) + 4)


def _draw_all(root: Element, columns: Sequence[Column], frame: _Frame) -> None:
    room = frame.across(1) - frame.across(0)
    gap = min(room * 0.12, 4)
    # Where columns are narrow, not every label has room; their table has them all.
    longest = max((len(clean(each.label)) for each in columns), default=1)
    needed = min(longest, 12) * _LETTER
    step = 1 if needed <= room else math.ceil((needed + _LETTER) / room)
    # All counts or none: numbers on the narrow ones alone would mislead.
    has_counts = len(str(max((each.count for each in columns), default=0))) * _LETTER <= room
    for place, each in enumerate(columns):
        group = add(root, "g", "named" if each.stands_out else "")
        left, right = frame.across(place) + gap / 2, frame.across(place + 1) - gap / 2
        middle = (left + right) / 2
        if each.count:
            rect(group, "count", (left, frame.up(each.count)), (right, frame.bottom))
            if has_counts:
                say(group, str(each.count), "small middle", x=middle, y=frame.up(each.count) - 4)
        if place % step == 0:
            label = shorten(each.label, 12)
            reach = len(label) * _LETTER / 2
            x = min(max(middle, reach), _WIDTH - reach)
            say(group, label, "muted small middle", x=x, y=frame.bottom + 15)


def _draw_mark(root: Element, mark: Mark, frame: _Frame) -> None:
    x = frame.across(mark.at)
    line(root, "median", (x, _TOP - 12), (x, frame.bottom))
    style = "start" if x < _WIDTH / 3 else "end" if x > _WIDTH * 2 / 3 else "middle"
    say(root, shorten(mark.label, 40), f"small strong {style}", x=x, y=_TOP - 16)
