"""The kinds of durable jobs, and how they end."""

from __future__ import annotations

from enum import StrEnum


class JobKind(StrEnum):
    """What a job does."""

    REGRADE = "regrade"


class JobState(StrEnum):
    """Whether a job still has work to be done, and how it ended."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
