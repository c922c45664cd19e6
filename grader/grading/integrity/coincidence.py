"""The probability that an answer solves somebody else's variant by accident."""

from __future__ import annotations

from dataclasses import dataclass

from grader.engine.confidence import compute_wilson_interval

#: A resemblance that is more probable than this by accident is no evidence.
UNINFORMATIVE_ABOVE = 0.05
#: One-sided bounds hold with 95 % confidence.
_Z_ONE_SIDED = 1.645
# With this many hits a rate is known well enough; below the minimum nothing is concluded.
_ENOUGH_HITS, _MIN_HITS = 30, 5


@dataclass(frozen=True, slots=True)
class CoincidenceRate:
    """An answer that solves `hits` of `tried` random variants that belong to nobody.

    `others` is the number of students on whose variants it was tried.
    """

    hits: int
    tried: int
    others: int

    @property
    def for_one(self) -> float:
        """The estimated probability that it solves one student's variant by accident."""
        return self.hits / self.tried if self.tried else 1.0

    @property
    def bound_for_one(self) -> float:
        """The upper bound of that probability, with 95 % confidence."""
        return compute_wilson_interval(self.hits, self.tried, _Z_ONE_SIDED).high

    @property
    def is_bound(self) -> bool:
        """Whether no accident was observed, so that only the bound is known."""
        return self.hits == 0

    @property
    def for_any(self) -> float:
        """The probability, or its bound, that it solves at least one of the others' variants."""
        return self._for_any(self.bound_for_one if self.is_bound else self.for_one)

    @property
    def bound_for_any(self) -> float:
        """The upper bound of that probability, with 95 % confidence."""
        return self._for_any(self.bound_for_one)

    @property
    def is_uninformative(self) -> bool:
        """Whether it happens by accident too often to be evidence."""
        return self.for_any > UNINFORMATIVE_ABOVE

    @property
    def is_known(self) -> bool:
        """Whether more tries are pointless: it is exact enough, or certainly uninformative."""
        if self.hits < _MIN_HITS:
            return False
        least = self._for_any(compute_wilson_interval(self.hits, self.tried, _Z_ONE_SIDED).low)
        return self.hits >= _ENOUGH_HITS or least > UNINFORMATIVE_ABOVE

    def _for_any(self, for_one: float) -> float:
        return float(1.0 - (1.0 - for_one) ** self.others)
