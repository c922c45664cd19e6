"""A cache of figures that take seconds to compute; each knows the moment it describes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")

#: Maximum age of figures while nothing has happened.
_MAX_AGE = timedelta(minutes=10)
#: What takes longer than this is kept for a minute even if something has happened since: close to a
#: deadline something always has.
_SLOW_SECONDS = 1.0
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[Value]):
    """A value with the moment that it describes, and the state of things then."""

    value: Value
    at: datetime
    state: Hashable
    seconds: float

    def is_fresh(self, *, at: datetime, state: Hashable, patience: timedelta | None) -> bool:
        """Whether it will do: nothing has happened since, or not enough time has passed."""
        age = at - self.at
        if state == self.state and age < _MAX_AGE:
            return True
        if patience is None:
            patience = _MINUTE if self.seconds >= _SLOW_SECONDS else timedelta(0)
        return age < patience


class StatisticsCache:
    """Values by name; each is computed by one thread at a time."""

    def __init__(self, max_values: int = 64) -> None:
        self._lock = threading.Lock()
        self._values: LRUCache[Hashable, CachedValue[Any]] = LRUCache(max_values)
        self._locks: LRUCache[Hashable, threading.Lock] = LRUCache(2 * max_values)

    def get(
        self,
        name: Hashable,
        compute: Callable[[], Value],
        *,
        at: datetime,
        state: Hashable,
        patience: timedelta | None = None,
    ) -> CachedValue[Value]:
        """The value of this name, computed anew where the cached one is out of date.

        A value no older than `patience` will do, whatever has happened since. While another thread
        computes it, the previous one is returned, however old.
        """
        before = self._find(name)
        if before is not None and before.is_fresh(at=at, state=state, patience=patience):
            return before
        with self._lock:
            computing = self._locks.setdefault(name, threading.Lock())
        if not computing.acquire(blocking=before is None):
            assert before is not None, "a thread without a value waits"
            return before
        try:
            now = self._find(name)
            if now is not None and now is not before:
                return now
            began = time.perf_counter()
            value = compute()
            cached = CachedValue(value, at, state, time.perf_counter() - began)
            with self._lock:
                self._values[name] = cached
            return cached
        finally:
            computing.release()

    def _find(self, name: Hashable) -> CachedValue[Any] | None:
        with self._lock:
            return self._values.get(name)
