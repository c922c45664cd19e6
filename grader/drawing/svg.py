"""Pictures as one SVG file that stands by itself, on light and on dark backgrounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.drawing.heat import draw_heat
from grader.drawing.plot_text import clean, summarise
from grader.drawing.plots import draw_bars, draw_plane
from grader.drawing.svg_elements import WIDTH, add, write
from grader.feedback.plots import HeatMap, OutputPlane, Picture, WeightBars

#: The width of the sheet, in pixels.
SHEET = 720
_EDGE = (SHEET - WIDTH) / 2

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
    SubElement(root, "title", id="title").text = clean(title)
    summaries = [f"{clean(each.title)}: {summarise(each)}" for each in pictures]
    SubElement(root, "desc", id="summary").text = " ".join(summaries) or "There is no picture."
    SubElement(root, "style").text = _STYLE
    sheet = add(root, "rect", "sheet", x=0.5, y=0.5, width=SHEET - 1, rx=8)
    height = write(root, title, 76, "title", x=_EDGE, y=40, leading=22) + 4
    for number, picture in enumerate(pictures):
        group = add(root, "g", transform=f"translate({_EDGE:g} {height + 24:g})")
        height += 24 + _draw(group, picture, number)
    sheet.set("height", f"{height + 23:g}")
    root.set("viewBox", f"0 0 {SHEET} {height + 24:g}")
    root.set("width", str(SHEET))
    root.set("height", f"{height + 24:g}")
    return tostring(root, encoding="unicode") + "\n"


def draw_inline(picture: Picture, *, name: str) -> str:
    """One picture as an element for a page, whose style sheet gives the colours.

    `name` is unique on the page; the picture's own title stands above it there.
    """
    root = Element("svg", {"role": "img", "class": "picture"})
    root.set("aria-labelledby", f"{name}-title {name}-summary")
    SubElement(root, "title", id=f"{name}-title").text = clean(picture.title)
    SubElement(root, "desc", id=f"{name}-summary").text = summarise(picture)
    group = add(root, "g", transform="translate(4 0)")
    bottom = _draw_body(group, picture, 8.0, name)
    root.set("viewBox", f"0 0 {WIDTH + 8} {bottom + 4:g}")
    return tostring(root, encoding="unicode")


def _draw(group: Element, picture: Picture, number: int) -> float:
    """Draw from (0, 0) on, and return the height that is used."""
    top = write(group, picture.title, 84, "heading", y=14, leading=18)
    bottom = _draw_body(group, picture, top, str(number))
    return write(group, summarise(picture), 104, "muted", y=bottom + 16, leading=17)


def _draw_body(group: Element, picture: Picture, top: float, name: str) -> float:
    match picture:
        case WeightBars():
            return draw_bars(group, picture, top)
        case OutputPlane():
            return draw_plane(group, picture, top)
        case HeatMap():
            return draw_heat(group, picture, top, name)
        case _:
            assert_never(picture)
