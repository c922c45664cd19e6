"""Text that people wrote, as HTML: Markdown without any HTML of its own, and TeX left for KaTeX."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from grader.reading.answer import DIGEST

# Mathematics is taken out before Markdown sees it, because both use _ and * for themselves.
# It may go over the end of a line, but not over that of a paragraph.
_MATH = re.compile(r"\$\$(?P<display>[^$]+)\$\$|\$(?P<inline>(?:[^$\n]|\n(?!\s*\n))+)\$")
# An uploaded file is named by its digest, and has its own link beside the text.
_ATTACHED = re.compile(rf"\[([^\]\n]*)\]\({DIGEST.pattern}\)")
_PLACEHOLDER = re.compile(r"\ue000(\d+)\ue001")


@cache
def _make_parser() -> MarkdownIt:
    # A picture would tell its server who reads the text, and when; it becomes a link instead.
    plain = MarkdownIt("commonmark", {"html": False, "linkify": False})
    return plain.enable("table").disable("image")


def to_html(text: str) -> Markup:
    """Markdown with TeX between dollar signs, as HTML.

    Nothing in the text becomes an element of its own making; without scripts the TeX is shown as
    it was written.
    """
    # Nobody writes these characters, and a text that has them shall not take another's place.
    text = text.replace("\ue000", "").replace("\ue001", "")
    text = _ATTACHED.sub(r"\1 (attached)", text)
    found: list[Markup] = []

    def take(match: re.Match[str]) -> str:
        tex = match["display"] or match["inline"]
        kind = "math display" if match["display"] else "math"
        found.append(Markup('<span class="{}">{}</span>').format(kind, tex))
        return f"\ue000{len(found) - 1}\ue001"

    rendered = _make_parser().render(_MATH.sub(take, text))
    return Markup(_PLACEHOLDER.sub(lambda match: found[int(match[1])], rendered))


def to_inline_html(text: str) -> Markup:
    """A line of text with TeX between dollar signs, and nothing else."""
    parts = []
    end = 0
    for match in _MATH.finditer(text):
        parts.append(escape(text[end : match.start()]))
        tex = match["display"] or match["inline"]
        parts.append(Markup('<span class="math">{}</span>').format(tex))
        end = match.end()
    parts.append(escape(text[end:]))
    return Markup("").join(parts)
