"""The findings of a verification: how much was checked, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

#: How many discrepancies of a check are kept; all are counted.
MAX_DISCREPANCIES = 50

#: Called with the name of a check and how many more things it has checked.
ProgressCallback = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Something that is wrong: its id, and a sentence about it."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class AuditCheckResult:
    """The result of one check; `found` also counts the discrepancies that are not kept."""

    name: str
    looked_at: int
    found: int
    discrepancies: tuple[Discrepancy, ...]

    @property
    def is_fine(self) -> bool:
        """Whether nothing is wrong."""
        return not self.found


def _escape(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


@dataclass(slots=True)
class AuditCheck:
    """A check while it runs."""

    name: str
    progress: ProgressCallback
    looked_at: int = 0
    found: int = 0
    kept: list[Discrepancy] = field(default_factory=list)

    def count(self, count: int = 1) -> None:
        """Count things that were checked."""
        self.looked_at += count
        self.progress(self.name, count)

    def report(self, subject: str, text: str) -> None:
        """Report a discrepancy."""
        self.found += 1
        if len(self.kept) < MAX_DISCREPANCIES:
            # Bytes that are no text are shown, and can be printed.
            self.kept.append(Discrepancy(_escape(subject), _escape(text)))

    def to_result(self) -> AuditCheckResult:
        """The result so far."""
        return AuditCheckResult(self.name, self.looked_at, self.found, tuple(self.kept))
