"""The states of a regrade, and what it says about a grade."""

from __future__ import annotations

from enum import StrEnum


class RegradeState(StrEnum):
    """Where a regrade stands.

    Its judgements count while it is applied, and at no other time. A declined one judges nothing:
    it says that the attempts keep what an earlier version of the rubric gave them.
    """

    JUDGING = "judging"
    READY = "ready"
    APPLIED = "applied"
    UNDONE = "undone"
    DISCARDED = "discarded"
    DECLINED = "declined"

    @property
    def is_open(self) -> bool:
        """Whether somebody has yet to decide about it."""
        return self in (RegradeState.JUDGING, RegradeState.READY)


class Side(StrEnum):
    """A grade before a regrade, or after it."""

    BEFORE = "before"
    AFTER = "after"
