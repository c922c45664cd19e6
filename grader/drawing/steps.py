"""A share that only falls, step by step: how many are left after each try."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.drawing.plot_text import clean, shorten
from grader.drawing.svg_elements import add, line, say

# The same measures as those of columns, beside which it stands.
_WIDTH, _HEIGHT = 440.0, 150.0
_LEFT, _RIGHT, _TOP = 44.0, 10.0, 22.0
_BOTTOM = _TOP + _HEIGHT


def draw_steps(
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
    SubElement(root, "title", id=f"{name}-title").text = clean(title)
    SubElement(root, "desc", id=f"{name}-summary").text = clean(summary)
    for share in (0.0, 0.5, 1.0):
        style = "grid" if share else "axis"
        line(root, style, (_LEFT, _up(share)), (_WIDTH - _RIGHT, _up(share)))
        say(root, f"{share:.0%}", "muted small end", x=_LEFT - 6, y=_up(share) + 4)
    if shares:
        _draw_line(root, shares)
    height = _BOTTOM + (40 if below else 22)
    if below:
        middle = (_LEFT + _WIDTH) / 2
        say(root, shorten(below, 60), "muted small middle", x=middle, y=height - 6)
    root.set("viewBox", f"0 0 {_WIDTH:g} {height:g}")
    return tostring(root, encoding="unicode")


def _up(share: float) -> float:
    return _BOTTOM - share * _HEIGHT


def _draw_line(root: Element, shares: Sequence[float]) -> None:
    # One place more, so that the last step has a tread of its own.
    room = (_WIDTH - _LEFT - _RIGHT) / (len(shares) + 1)
    path = [f"M{_LEFT:g} {_up(1.0):g}"]
    for place, share in enumerate(shares, start=1):
        path.append(f"H{_LEFT + place * room:.2f} V{_up(share):.2f}")
    path.append(f"H{_WIDTH - _RIGHT:g}")
    outline = " ".join(path)
    add(root, "path", "under", d=f"{outline} V{_BOTTOM:g} H{_LEFT:g} Z")
    add(root, "path", "steps", d=outline)
    # Where steps are narrow, not every place has room for its number.
    every = max(int(28 // room) + 1, 1) if room < 28 else 1
    for place, share in enumerate(shares, start=1):
        x = _LEFT + place * room
        if place % every == 0 or place == 1:
            say(root, str(place), "muted small middle", x=x, y=_BOTTOM + 15)
        if room >= 34:
            say(root, f"{share:.0%}", "small", x=x + 4, y=_up(share) - 5)
