"""What was published of an assignment: when, by whom, and which lines of its files changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from grader.errors import NotFound
from grader.store.database import Session
from grader.store.queries.people import find_names
from grader.store.queries.publications import (
    PublicationLine,
    get_texts,
    list_publications,
    list_versions,
)


@dataclass(frozen=True, slots=True)
class PublicationChange:
    """A publication, compared with the one before."""

    line: PublicationLine
    by: str | None
    """The name of the person who published it; None for a service."""
    versions: dict[str, str]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    moves_dates: bool


@dataclass(frozen=True, slots=True)
class PublicationHistory:
    """All publications of an assignment, the newest first."""

    publications: tuple[PublicationChange, ...]

    def versions_of(self, question: str) -> tuple[PublicationChange, ...]:
        """The publications that brought a new version of a question's file, the newest first."""
        return tuple(each for each in self.publications if question in (*each.added, *each.changed))

    def get(self, number: int) -> PublicationChange:
        """The publication of this number."""
        for each in self.publications:
            if each.line.number == number:
                return each
        raise NotFound


def load_history(session: Session, *, run_id: str, assignment: str) -> PublicationHistory:
    """All publications of an assignment; NotFound if there are none."""
    lines = list_publications(session, run_id=run_id, assignment=assignment)
    if not lines:
        raise NotFound
    versions = list_versions(session, publication_ids=[each.id for each in lines])
    names = find_names(session, person_ids=[each.by for each in lines])
    found = [
        _compare(line, earlier, versions, names.get(line.by))
        for line, earlier in pairwise([*lines, None])
        if line is not None
    ]
    return PublicationHistory(tuple(found))


def get_rubric_text(session: Session, publication: PublicationChange, *, question: str) -> str:
    """A question's file in a publication."""
    text = get_texts(session, publication_id=publication.line.id).rubrics.get(question)
    if text is None:
        raise NotFound
    return text


def _compare(
    line: PublicationLine,
    earlier: PublicationLine | None,
    versions: dict[str, dict[str, str]],
    by: str | None,
) -> PublicationChange:
    now = versions.get(line.id, {})
    before = versions.get(earlier.id, {}) if earlier else {}
    return PublicationChange(
        line,
        by,
        now,
        added=tuple(each for each in now if each not in before),
        changed=tuple(each for each in now if each in before and now[each] != before[each]),
        removed=tuple(each for each in before if each not in now),
        moves_dates=earlier is not None
        and (line.opens_at, line.due_at) != (earlier.opens_at, earlier.due_at),
    )


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
