"""The elements of SVG pictures."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from grader.drawing.plot_text import Point, normalize_label, wrap_lines

#: The width of a drawing, in pixels.
WIDTH = 656


def make_svg(title: str, summary: str, *, name: str, style: str) -> Element:
    """An SVG element with a text alternative; `name` is unique on the page."""
    root = Element("svg", {"role": "img", "class": style})
    root.set("aria-labelledby", f"{name}-title {name}-summary")
    SubElement(root, "title", id=f"{name}-title").text = normalize_label(title)
    SubElement(root, "desc", id=f"{name}-summary").text = normalize_label(summary)
    return root


def add_element(parent: Element, tag: str, style: str = "", **attributes: str | float) -> Element:
    """An element with its class and attributes; numbers are rounded to two decimals."""
    written = {"class": style} if style else {}
    for name, value in attributes.items():
        text = value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
        written[name.replace("_", "-")] = text
    return SubElement(parent, tag, written)


def add_text(parent: Element, text: str, style: str = "", *, x: float, y: float) -> None:
    """One line of text."""
    add_element(parent, "text", style, x=x, y=y).text = text


def add_paragraph(
    parent: Element, text: str, room: int, style: str, *, y: float, leading: float, x: float = 0
) -> float:
    """Write lines of at most `room` characters; return the position of the next paragraph."""
    lines = wrap_lines(normalize_label(text), room)
    for place, line in enumerate(lines):
        add_text(parent, line, style, x=x, y=y + place * leading)
    return y + (len(lines) - 1) * leading + 8


def add_line(parent: Element, style: str, start: Point, stop: Point) -> None:
    """A straight line."""
    add_element(parent, "line", style, x1=start[0], y1=start[1], x2=stop[0], y2=stop[1])


def add_rect(parent: Element, style: str, start: Point, stop: Point, **more: str) -> None:
    """A rectangle between two corners; left and right may be swapped."""
    left, right = sorted((start[0], stop[0]))
    size = {"width": f"{right - left:.2f}", "height": f"{stop[1] - start[1]:.2f}"}
    add_element(parent, "rect", style, x=left, y=start[1], **size, **more)
