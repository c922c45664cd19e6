"""The difference of two texts, line by line, with a few lines around every change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

#: So many lines that stayed are shown before and after a change.
_CONTEXT_LINES = 3


class DiffKind(StrEnum):
    """What became of a line."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    GAP = "gap"
    """Lines that stayed and are left out here."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference; its numbers count from one in the text that has it."""

    kind: DiffKind
    text: str = ""
    before: int | None = None
    after: int | None = None


def compare_texts(before: str, after: str) -> list[DiffLine]:
    """Every line that was removed or added, in order; nothing where the texts are alike."""
    old, new = before.splitlines(), after.splitlines()
    lines: list[DiffLine] = []
    # Lines that come often, such as empty ones, count as much as others in files of this size.
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
