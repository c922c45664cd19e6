"""What a verification finds: how much was looked at, and what is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

#: So many discrepancies of a check are kept; all are counted.
MAX_DISCREPANCIES = 50

#: Hears which check has just looked at so many more things.
ProgressCallback = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Something that is not as it should be: what, by its id, and a sentence about it."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class AuditCheckResult:
    """How one check came out; `found` also counts the discrepancies that are not kept."""

    name: str
    looked_at: int
    found: int
    discrepancies: tuple[Discrepancy, ...]

    @property
    def is_fine(self) -> bool:
        """Whether everything is as it should be."""
        return not self.found


@dataclass(slots=True)
class AuditCheck:
    """A check at work."""

    name: str
    tell: ProgressCallback
    looked_at: int = 0
    found: int = 0
    kept: list[Discrepancy] = field(default_factory=list)

    def look(self, count: int = 1) -> None:
        """Note that so many more things were looked at."""
        self.looked_at += count
        self.tell(self.name, count)

    def differs(self, subject: str, text: str) -> None:
        """Note a discrepancy."""
        self.found += 1
        if len(self.kept) < MAX_DISCREPANCIES:
            self.kept.append(Discrepancy(subject, text))

    def checked(self) -> AuditCheckResult:
        """How it came out."""
        return AuditCheckResult(self.name, self.looked_at, self.found, tuple(self.kept))
