"""Counts as columns: a bar chart for a page, whose style sheet gives the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.drawing.plot_text import format_short_label, normalize_label
from grader.drawing.svg_elements import add_element, add_line, add_rect, add_text

#: Narrow enough to be read on a telephone, where the whole picture shrinks with its text.
_WIDTH, _HEIGHT = 440.0, 150.0
_LEFT, _RIGHT, _TOP = 34.0, 6.0, 30.0
#: About the width of a small letter.
_LETTER_WIDTH = 6.4


@dataclass(frozen=True, slots=True)
class Bar:
    """How many there are of something; columns that stand out are drawn stronger."""

    label: str
    count: int
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line across the columns: at 0 the left edge of the first one, at 1 that of the second."""

    label: str
    at: float


@dataclass(frozen=True, slots=True)
class _BarScale:
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
        What is shown, and what it comes to, for those who cannot see it.
    below
        What the labels mean, as in "points".
    mark, band
        A line, such as a median, and a stretch, such as the middle half, both counted in columns.
    """
    root = Element("svg", {"role": "img", "class": "picture chart"})
    root.set("aria-labelledby", f"{name}-title {name}-summary")
    SubElement(root, "title", id=f"{name}-title").text = normalize_label(title)
    SubElement(root, "desc", id=f"{name}-summary").text = normalize_label(summary)
    frame = _BarScale(
        max(len(columns), 1), _round_up_count(max((each.count for each in columns), default=0))
    )
    _draw_scale(root, frame)
    if band is not None:
        start, stop = (frame.across(each) for each in sorted(band))
        add_rect(root, "band", (start, _TOP), (stop, frame.bottom))
    _draw_bars(root, columns, frame)
    if mark is not None:
        _draw_reference_line(root, mark, frame)
    height = frame.bottom + (40 if below else 22)
    if below:
        middle = (_LEFT + _WIDTH) / 2
        add_text(root, format_short_label(below, 60), "muted small middle", x=middle, y=height - 6)
    root.set("viewBox", f"0 0 {_WIDTH:g} {height:g}")
    return tostring(root, encoding="unicode")


def _round_up_count(most: int) -> int:
    """A round number that no count is above, and that has a whole half."""
    if most <= 2:
        return 2
    power: int = 10 ** (len(str(most)) - 1)
    steps = (step * power for step in (1, 2, 4, 6, 8, 10))
    return next(each for each in steps if each >= most and each % 2 == 0)


def _draw_scale(root: Element, frame: _BarScale) -> None:
    for count in (0, frame.most // 2, frame.most):
        style = "grid" if count else "axis"
        add_line(root, style, (_LEFT, frame.up(count)), (_WIDTH - _RIGHT, frame.up(count)))
        add_text(root, str(count), "muted small end", x=_LEFT - 6, y=frame.up(count) + 4)


def _draw_bars(root: Element, columns: Sequence[Bar], frame: _BarScale) -> None:
    room = frame.across(1) - frame.across(0)
    gap = min(room * 0.12, 4)
    # Where columns are narrow, not every label has room; their table has them all.
    longest = max((len(normalize_label(each.label)) for each in columns), default=1)
    needed = min(longest, 12) * _LETTER_WIDTH
    step = 1 if needed <= room else math.ceil((needed + _LETTER_WIDTH) / room)
    # All counts or none: numbers on the narrow ones alone would mislead.
    has_counts = len(str(max((each.count for each in columns), default=0))) * _LETTER_WIDTH <= room
    for place, each in enumerate(columns):
        group = add_element(root, "g", "named" if each.stands_out else "")
        left, right = frame.across(place) + gap / 2, frame.across(place + 1) - gap / 2
        middle = (left + right) / 2
        if each.count:
            add_rect(group, "count", (left, frame.up(each.count)), (right, frame.bottom))
            if has_counts:
                add_text(
                    group, str(each.count), "small middle", x=middle, y=frame.up(each.count) - 4
                )
        if place % step == 0:
            label = format_short_label(each.label, 12)
            reach = len(label) * _LETTER_WIDTH / 2
            x = min(max(middle, reach), _WIDTH - reach)
            add_text(group, label, "muted small middle", x=x, y=frame.bottom + 15)


def _draw_reference_line(root: Element, mark: ReferenceLine, frame: _BarScale) -> None:
    x = frame.across(mark.at)
    add_line(root, "median", (x, _TOP - 12), (x, frame.bottom))
    style = "start" if x < _WIDTH / 3 else "end" if x > _WIDTH * 2 / 3 else "middle"
    add_text(root, format_short_label(mark.label, 40), f"small strong {style}", x=x, y=_TOP - 16)


# The same measures as those of columns, beside which it stands.
_STEPS_WIDTH, _STEPS_HEIGHT = 440.0, 150.0
_STEPS_LEFT, _STEPS_RIGHT, _STEPS_TOP = 44.0, 10.0, 22.0
_STEPS_BOTTOM = _STEPS_TOP + _STEPS_HEIGHT


def draw_step_chart(
    shares: Sequence[float], *, name: str, title: str, summary: str, below: str = ""
) -> str:
    """A falling line in steps as an SVG element of the class `picture`.

    Parameters
    ----------
    shares
        What is left after the first try, after the second, and so on, each between 0 and 1. Before
        the first it is 1; without any, only the axes are drawn.
    name
        Unique on the page.
    title, summary
        What is shown, and what it comes to, for those who cannot see it.
    below
        What the places mean, as in "attempts".
    """
    root = Element("svg", {"role": "img", "class": "picture chart"})
    root.set("aria-labelledby", f"{name}-title {name}-summary")
    SubElement(root, "title", id=f"{name}-title").text = normalize_label(title)
    SubElement(root, "desc", id=f"{name}-summary").text = normalize_label(summary)
    for share in (0.0, 0.5, 1.0):
        style = "grid" if share else "axis"
        add_line(
            root,
            style,
            (_STEPS_LEFT, _steps_y(share)),
            (_STEPS_WIDTH - _STEPS_RIGHT, _steps_y(share)),
        )
        add_text(root, f"{share:.0%}", "muted small end", x=_STEPS_LEFT - 6, y=_steps_y(share) + 4)
    if shares:
        _draw_step_line(root, shares)
    height = _STEPS_BOTTOM + (40 if below else 22)
    if below:
        middle = (_STEPS_LEFT + _STEPS_WIDTH) / 2
        add_text(root, format_short_label(below, 60), "muted small middle", x=middle, y=height - 6)
    root.set("viewBox", f"0 0 {_STEPS_WIDTH:g} {height:g}")
    return tostring(root, encoding="unicode")


def _steps_y(share: float) -> float:
    return _STEPS_BOTTOM - share * _STEPS_HEIGHT


def _draw_step_line(root: Element, shares: Sequence[float]) -> None:
    # One place more, so that the last step has a tread of its own.
    room = (_STEPS_WIDTH - _STEPS_LEFT - _STEPS_RIGHT) / (len(shares) + 1)
    path = [f"M{_STEPS_LEFT:g} {_steps_y(1.0):g}"]
    for place, share in enumerate(shares, start=1):
        path.append(f"H{_STEPS_LEFT + place * room:.2f} V{_steps_y(share):.2f}")
    path.append(f"H{_STEPS_WIDTH - _STEPS_RIGHT:g}")
    outline = " ".join(path)
    add_element(root, "path", "under", d=f"{outline} V{_STEPS_BOTTOM:g} H{_STEPS_LEFT:g} Z")
    add_element(root, "path", "steps", d=outline)
    # Where steps are narrow, not every place has room for its number.
    every = max(int(28 // room) + 1, 1) if room < 28 else 1
    for place, share in enumerate(shares, start=1):
        x = _STEPS_LEFT + place * room
        if place % every == 0 or place == 1:
            add_text(root, str(place), "muted small middle", x=x, y=_STEPS_BOTTOM + 15)
        if room >= 34:
            add_text(root, f"{share:.0%}", "small", x=x + 4, y=_steps_y(share) - 5)
