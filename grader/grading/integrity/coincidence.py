"""How probable it is that an answer solves somebody else's variant by accident."""

from __future__ import annotations

from dataclasses import dataclass

from grader.engine.confidence import compute_wilson_interval

#: From this chance on a resemblance is no sign of anything.
UNINFORMATIVE_ABOVE = 0.05
#: Of a hundred such bounds, 95 are true.
_Z_ONE_SIDED = 1.645
# With so many hits a chance is known well enough, and with fewer none is told.
_ENOUGH_HITS, _MIN_HITS = 30, 5


@dataclass(frozen=True, slots=True)
class CoincidenceRate:
    """An answer that solved `hits` of `tried` variants that belong to nobody.

    It was tried on the variants of `others` students.
    """

    hits: int
    tried: int
    others: int

    @property
    def for_one(self) -> float:
        """The estimated probability that it solves the variant of one student."""
        return self.hits / self.tried if self.tried else 1.0

    @property
    def bound_for_one(self) -> float:
        """What that probability does not exceed, with 95 % certainty."""
        return compute_wilson_interval(self.hits, self.tried, _Z_ONE_SIDED).high

    @property
    def is_bound(self) -> bool:
        """Whether it was never seen to happen, so that only a bound can be told."""
        return self.hits == 0

    @property
    def for_any(self) -> float:
        """The probability that it solves at least one of the others', or its bound."""
        return self._for_any(self.bound_for_one if self.is_bound else self.for_one)

    @property
    def bound_for_any(self) -> float:
        """What that probability does not exceed, with 95 % certainty."""
        return self._for_any(self.bound_for_one)

    @property
    def says_nothing(self) -> bool:
        """Whether it happens by accident so often that it is no sign of anything."""
        return self.for_any > UNINFORMATIVE_ABOVE

    @property
    def is_known(self) -> bool:
        """Whether more tries would tell nothing new: it is exact, or certain to say nothing."""
        if self.hits < _MIN_HITS:
            return False
        least = self._for_any(compute_wilson_interval(self.hits, self.tried, _Z_ONE_SIDED).low)
        return self.hits >= _ENOUGH_HITS or least > UNINFORMATIVE_ABOVE

    def _for_any(self, for_one: float) -> float:
        return float(1.0 - (1.0 - for_one) ** self.others)
