"""User text as HTML: Markdown without raw HTML, and TeX marked up for KaTeX."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.reading.answer import DIGEST

# An uploaded file is named by its digest, and has its own link beside the text.
_ATTACHED = re.compile(rf"\[([^\]\n]*)\]\({DIGEST.pattern}\)")


@cache
def _make_parser(preset: str) -> MarkdownIt:
    """A parser with TeX between dollar signs; `zero` knows nothing else."""
    parser = MarkdownIt(preset, {"html": False, "linkify": False})
    parser.use(dollarmath_plugin, allow_labels=False, allow_blank_lines=False, double_inline=True)
    parser.add_render_rule("math_inline", _render_inline_math)
    parser.add_render_rule("math_inline_double", _render_inline_math)
    if preset == "commonmark":
        parser.add_render_rule("math_inline_double", _render_display_math)
        parser.add_render_rule("math_block", _render_math_block)
        # An image would tell its server who reads the text, and when; it becomes a link instead.
        parser.enable("table").disable("image")
    return parser


def _render_inline_math(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    return Markup('<span class="math">{}</span>').format(tokens[index].content)


def _render_display_math(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    return Markup('<span class="math display">{}</span>').format(tokens[index].content)


def _render_math_block(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    return f"<p>{_render_display_math(self, tokens, index, options, env)}</p>\n"


def to_html(text: str) -> Markup:
    """Markdown with TeX between dollar signs, as HTML.

    The text cannot add elements of its own. Without scripts the TeX is shown as it was written.
    """
    return Markup(_make_parser("commonmark").render(_ATTACHED.sub(r"\1 (attached)", text)))


def to_inline_html(text: str) -> Markup:
    """A line of text in which only TeX between dollar signs is marked up."""
    return Markup(_make_parser("zero").renderInline(text))
