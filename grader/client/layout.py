"""Plain text: wrapped lines, aligned columns, numbers and times in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import datetime

WIDTH = 88


def wrap_text(text: str, *, indent: int = 0, first: str | None = None) -> str:
    """Wrap a text: the first line begins with `first`, the others with `indent` spaces."""
    blank = " " * indent
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=blank if first is None else first,
        subsequent_indent=blank,
        break_long_words=False,
        break_on_hyphens=False,
    )


def format_columns(
    rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()
) -> list[str]:
    """Align rows of cells; columns in `right` are flush right, and the last column is wrapped."""
    if not rows:
        return []
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        start = "".join(f"{cell}  " for cell in cells)
        lines.append(
            wrap_text(row[-1], indent=len(start), first=start) if row[-1] else start.rstrip()
        )
    return lines


def format_points(points: float) -> str:
    """Points with at most two decimals, without trailing zeros."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def format_count(number: float, noun: str) -> str:
    """A number with its noun: *1 point*, *2 points*."""
    return f"{format_points(number)} {noun}{'' if number == 1 else 's'}"


def describe_axes(axes: Sequence[int]) -> str:
    """The shape of an array in a few words: *a number*, *7 numbers*, *5 × 7*."""
    match tuple(axes):
        case ():
            return "a number"
        case (length,):
            return format_count(length, "number")
        case _:
            return " × ".join(map(str, axes))


def format_time(moment: datetime | None) -> str:
    """A moment in the time zone of this machine, with its offset; empty for None."""
    if moment is None:
        return ""
    local = moment.astimezone()
    offset = local.strftime("%z")
    return f"{local:%Y-%m-%d %H:%M:%S} (UTC{offset[:3]}:{offset[3:5]})"
