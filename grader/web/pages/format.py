"""How pages write points, times and states, and render Markdown with TeX."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.domain.policies import Phase
from grader.domain.verdicts import Reason
from grader.grading.attempts.open_questions import QuestionStatus
from grader.reading.answer import DIGEST

_STATES = {
    QuestionStatus.NOT_OPEN: "not open yet",
    QuestionStatus.NOT_STARTED: "not submitted yet",
    QuestionStatus.STARTED: "tried",
    QuestionStatus.SOLVED: "solved",
    QuestionStatus.AWAITS_REVIEW: "to be graded by a person",
    QuestionStatus.SUBMITTED: "submitted",
}
_PHASES = {
    Phase.NOT_OPEN: "not open yet",
    Phase.OPEN: "open",
    Phase.LATE: "late answers are accepted",
    Phase.CLOSED: "closed",
}
_OUTCOMES = {
    "met": "met",
    "partly_met": "partly met",
    "not_met": "not met",
    "ungradable": "could not be judged",
    "pending": "to be graded by a person",
}


# Pages write the same few numbers and times again and again.
@lru_cache(maxsize=10_000)
def format_points(points: Decimal | float | None) -> str:
    """Points without trailing zeros; a dash for None."""
    return "–" if points is None else f"{Decimal(str(points)).normalize():f}"


def format_state(state: QuestionStatus) -> str:
    """A student's progress with a question, in neutral words."""
    return _STATES[state]


def format_phase(phase: Phase) -> str:
    """The phase of an assignment."""
    return _PHASES[phase]


def format_outcome(outcome: str, reason: str | None = None) -> str:
    """The outcome of a criterion; a part that was not submitted is not pending."""
    if reason == Reason.NOT_SENT:
        return "not submitted yet"
    return _OUTCOMES.get(outcome, outcome)


@lru_cache(maxsize=10_000)
def format_time(moment: datetime, time_zone: str) -> Markup:
    """A time in the course's time zone with its offset; the machine-readable form is UTC."""
    local = moment.astimezone(ZoneInfo(time_zone))
    offset = f"{local:%z}"
    return Markup('<time datetime="{}">{} (UTC{}:{})</time>').format(
        moment.astimezone(UTC).isoformat(timespec="seconds"),
        f"{local:%a %-d %b %Y, %H:%M}",
        offset[:3],
        offset[3:5],
    )


def format_relative_time(moment: datetime, now: datetime) -> str:
    """The time until or since a moment: in 3 h 12 min, 2 days ago."""
    is_past = moment < now
    span = _format_duration(abs(moment - now))
    return f"{span} ago" if is_past else f"in {span}"


def _format_duration(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    days, hours = minutes // 1440, minutes // 60
    if days >= 2:
        return f"{days} days"
    if hours >= 24:
        return f"1 day {hours - 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else "less than a minute"


# An uploaded file is named by its digest, and has its own link beside the text.
# A name has no opening bracket: otherwise each of a thousand brackets would search to the end.
_ATTACHED = re.compile(rf"\[([^\[\]\n]*)\]\({DIGEST.pattern}\)")
_MARK = re.compile(r"[\[\]*_`$\\<&!]")
#: A line costs the parser about as much as three marks. With all of these it takes about 80 ms,
#: and no text that somebody wrote to be read has nearly as many.
_MARKS_PER_LINE = 3
_MAX_MARKS = 6_000
#: For open brackets, the time grows with the square of their number.
_MAX_BRACKETS = 1_000


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

    The text cannot add elements of its own. Without scripts the TeX is shown as it was written, and
    so is a whole text that consists of hardly anything but markup.
    """
    marks = len(_MARK.findall(text)) + _MARKS_PER_LINE * text.count("\n")
    if marks > _MAX_MARKS or text.count("[") > _MAX_BRACKETS:
        return Markup('<pre tabindex="0">{}</pre>').format(text)
    return Markup(_make_parser("commonmark").render(_ATTACHED.sub(r"\1 (attached)", text)))


def to_inline_html(text: str) -> Markup:
    """A line of text in which only TeX between dollar signs is marked up."""
    return Markup(_make_parser("zero").renderInline(text))


# What authors write is the same for everybody; what students write is not kept.
to_author_html = lru_cache(maxsize=2_000)(to_html)
to_author_inline_html = lru_cache(maxsize=10_000)(to_inline_html)
