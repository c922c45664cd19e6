"""The lines of a YAML file as HTML, with keys and comments set apart; the rest is left alone.

This is to help the eye and no parser: what it takes for text is shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

_KEY = re.compile(r"^(?P<before>\s*(?:- )*)(?P<key>[A-Za-z_][\w ,.-]*)(?P<colon>:)(?=\s|$)")
_BLOCK = re.compile(r"[:-]\s+[|>][+-]?\d?\s*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")


def mark_lines(text: str) -> list[Markup]:
    """Every line of a file, safe to be shown."""
    return list(_mark(text.splitlines()))


def _mark(lines: list[str]) -> Iterator[Markup]:
    # Inside a block of text nothing is a key and nothing a comment, however much it looks so.
    block: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            yield escape(line)
            continue
        block = indent if _BLOCK.search(line) else None
        yield _mark_line(line)


def _mark_line(line: str) -> Markup:
    comment = next((each for each in _COMMENT.finditer(line) if _is_open(line, each.start())), None)
    code = line[: comment.start()] if comment else line
    marked = Markup("<i>{}</i>").format(line[comment.start() :]) if comment else Markup()
    key = _KEY.match(code)
    if key is None:
        return escape(code) + marked
    rest = code[key.end() :]
    return Markup("{}<b>{}</b>:{}").format(key["before"], key["key"], rest) + marked


def _is_open(line: str, place: int) -> bool:
    """Whether no quotes are open at a place of a line."""
    return all(line.count(quote, 0, place) % 2 == 0 for quote in "\"'")
