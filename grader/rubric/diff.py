"""The difference between two texts, line by line, with a few lines around every change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

#: Number of unchanged lines shown before and after a change.
_CONTEXT_LINES = 3


class DiffKind(StrEnum):
    """How a line changed."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    GAP = "gap"
    """Unchanged lines that are left out."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference; its numbers count from one in the text that has it."""

    kind: DiffKind
    text: str = ""
    before: int | None = None
    after: int | None = None


def compare_texts(before: str, after: str) -> list[DiffLine]:
    """The removed and added lines in order; empty if the texts are equal."""
    old, new = before.splitlines(), after.splitlines()
    lines: list[DiffLine] = []
    # In files of this size, frequent lines such as empty ones need no special treatment.
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        if lines or group[0][1] > 0:
            lines.append(DiffLine(DiffKind.GAP))
        for tag, old_begin, old_end, new_begin, new_end in group:
            if tag == "equal":
                lines += _list_unchanged(old, old_begin, old_end, new_begin)
                continue
            lines += [
                DiffLine(DiffKind.REMOVED, old[place], before=place + 1)
                for place in range(old_begin, old_end)
            ]
            lines += [
                DiffLine(DiffKind.ADDED, new[place], after=place + 1)
                for place in range(new_begin, new_end)
            ]
    return lines


def _list_unchanged(old: list[str], begin: int, end: int, new_begin: int) -> Iterator[DiffLine]:
    for place in range(begin, end):
        yield DiffLine(DiffKind.SAME, old[place], place + 1, new_begin + place - begin + 1)
