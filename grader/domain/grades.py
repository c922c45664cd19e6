"""What a student's attempts, reviews and overrides come to: a function of them and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, Protocol

from grader.domain.policies import CountedAttempt, Policy, Window

ZERO = Decimal(0)


class ScoredAttempt(NamedTuple):
    """An attempt with what it earned so far, reviews included and lateness not.

    `possible` is what it was judged out of, which another version of the rubric may have changed.
    `pending` is what a person may still add to it, because text or a file was sent. A free attempt
    does not count against the limit.
    """

    id: str
    number: int
    received_at: datetime
    points: Decimal
    possible: Decimal
    pending: Decimal
    needs_person: bool
    is_free: bool = False


class DecidedScore(NamedTuple):
    """Points that staff or another system gave, out of those that were possible then."""

    points: Decimal
    possible: Decimal


class Standing(NamedTuple):
    """Where a student stands with one question; `points` is None before anything was done.

    `possible` is out of what the points were given, whatever the question is worth by now.
    `attempts` is how many are used. `counted_points` and `counted_pending` are those of the attempt
    that counts, before lateness and whatever overrides it; None where no attempt counts.
    """

    points: Decimal | None
    possible: Decimal
    pending: Decimal
    attempts: int
    counted_attempt_id: str | None
    counted_points: Decimal | None
    counted_pending: Decimal | None
    late_days: int
    is_overridden: bool
    needs_person: bool


def settle(
    policy: Policy,
    attempts: Sequence[ScoredAttempt],
    *,
    possible: Decimal,
    external: DecidedScore | None = None,
    override: DecidedScore | None = None,
) -> Standing:
    """Where a student stands: an override goes before a score from outside, and that before all.

    `possible` is what the question is worth, which is told where nothing was judged or decided.
    """
    counted = choose_counted(policy, attempts)
    return _settle(policy, counted, possible, count_used(attempts), external, override)


def settle_next(
    policy: Policy,
    counted: ScoredAttempt | None,
    new: ScoredAttempt,
    *,
    used: int,
    external: DecidedScore | None = None,
    override: DecidedScore | None = None,
) -> Standing:
    """Where a student stands after one more attempt: the same as `settle` says of all attempts.

    `counted` is the attempt that counted before the new one, `used` how many were used.
    """
    candidates = [new] if counted is None else [counted, new]
    chosen = choose_counted(policy, candidates)
    return _settle(policy, chosen, new.possible, used + count_used([new]), external, override)


def _settle(
    policy: Policy,
    counted: ScoredAttempt | None,
    possible: Decimal,
    used: int,
    external: DecidedScore | None,
    override: DecidedScore | None,
) -> Standing:
    late_days = policy.window.days_late(counted.received_at) if counted else 0
    decided = override or external
    points: Decimal | None = None
    pending = ZERO
    if decided is not None:
        points, possible = decided
    elif counted is not None:
        points = policy.window.reduced(counted.points, late_days)
        possible, pending = counted.possible, counted.pending
    is_open = decided is None
    return Standing(
        points=points,
        possible=possible,
        pending=pending,
        attempts=used,
        counted_attempt_id=counted.id if counted else None,
        counted_points=counted.points if counted else None,
        counted_pending=counted.pending if counted else None,
        late_days=late_days if is_open else 0,
        is_overridden=override is not None,
        needs_person=bool(is_open and counted and counted.needs_person),
    )


class LimitedAttempt(Protocol):
    """An attempt, as far as the limit is concerned."""

    @property
    def is_free(self) -> bool:
        """Whether it does not count against the limit."""


def count_used(attempts: Iterable[LimitedAttempt]) -> int:
    """How many attempts of the limit are used: all but the free ones."""
    return sum(not each.is_free for each in attempts)


def choose_counted(policy: Policy, attempts: Sequence[ScoredAttempt]) -> ScoredAttempt | None:
    """The attempt that counts; None where there is none."""
    if not attempts:
        return None
    match policy.counted:
        case CountedAttempt.FIRST:
            return min(attempts, key=lambda each: each.number)
        case CountedAttempt.LAST:
            return max(attempts, key=lambda each: each.number)
        case CountedAttempt.BEST:
            return max(attempts, key=lambda each: _rank(policy.window, each))


def _rank(window: Window, attempt: ScoredAttempt) -> tuple[Decimal, Decimal, int]:
    """Points first; among equals what a person may still add, then the earlier attempt."""
    late = window.days_late(attempt.received_at)
    return (
        window.reduced(attempt.points, late),
        window.reduced(attempt.pending, late),
        -attempt.number,
    )


def compute_total(points: Iterable[Decimal | None]) -> Decimal:
    """The sum of the points; None counts as zero."""
    return sum((each for each in points if each is not None), ZERO)
