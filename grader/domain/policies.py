"""When answers are taken, how many, and which of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

_DAY = timedelta(days=1)
_CENT = Decimal("0.01")


class CountedAttempt(StrEnum):
    """Which of a student's attempts counts."""

    BEST = "best"
    LAST = "last"
    FIRST = "first"


class Feedback(StrEnum):
    """How much of an attempt's result a student may see."""

    FULL = "full"
    CORRECTNESS = "correctness"
    AFTER_DUE = "after_due"
    NONE = "none"


class Phase(StrEnum):
    """Where a moment lies in the time of an assignment."""

    NOT_OPEN = "not_open"
    OPEN = "open"
    LATE = "late"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which answers are taken.

    `grace_seconds` after the due date an answer is still in time. Each begun day after the due
    date costs `per_day` of the points, and after `most_late_days` of them nothing is taken.
    """

    opens_at: datetime | None
    due_at: datetime | None
    grace_seconds: int
    per_day: Decimal
    most_late_days: int

    @property
    def closes_at(self) -> datetime | None:
        """After this moment nothing is taken; None where it never ends."""
        if self.due_at is None:
            return None
        return self.due_at + max(timedelta(seconds=self.grace_seconds), self.most_late_days * _DAY)

    def phase(self, moment: datetime) -> Phase:
        """Whether an answer that arrives then is taken, and whether it is late."""
        if self.opens_at is not None and moment < self.opens_at:
            return Phase.NOT_OPEN
        if self.closes_at is not None and moment > self.closes_at:
            return Phase.CLOSED
        return Phase.LATE if self.days_late(moment) else Phase.OPEN

    def days_late(self, moment: datetime) -> int:
        """How many days have begun since the due date; 0 until the grace has passed."""
        if self.due_at is None or moment <= self.due_at + timedelta(seconds=self.grace_seconds):
            return 0
        return -((self.due_at - moment) // _DAY)

    def reduced(self, points: Decimal, days_late: int) -> Decimal:
        """What remains of points that were earned this many days late."""
        left = max(Decimal(0), 1 - self.per_day * days_late)
        return normalize_points(points * left)


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one student and one question."""

    window: Window
    most_attempts: int
    counted: CountedAttempt
    feedback: Feedback
    builds_on: tuple[Feedback, ...] = ()
    """How much is told about earlier parts, of which this one's result would tell as well."""

    @property
    def strictest(self) -> Feedback:
        """The least that is told about this part or any that it builds on."""
        return max((self.feedback, *self.builds_on), key=list(Feedback).index)

    def count_left(self, used: int) -> int:
        """How many attempts are left after this many; 0 where a limit was lowered since."""
        return max(self.most_attempts - used, 0)

    def shows_result(self, moment: datetime) -> bool:
        """Whether a student may see how an attempt came out."""
        return all(self._shows(each, moment) for each in (self.feedback, *self.builds_on))

    def _shows(self, feedback: Feedback, moment: datetime) -> bool:
        match feedback:
            case Feedback.FULL | Feedback.CORRECTNESS:
                return True
            case Feedback.AFTER_DUE:
                closes_at = self.window.closes_at
                return closes_at is not None and moment > closes_at
            case Feedback.NONE:
                return False


def normalize_points(points: Decimal) -> Decimal:
    """Points to the cent, without needless zeros."""
    return points.quantize(_CENT).normalize() + Decimal(0)
