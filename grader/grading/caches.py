"""Figures that take seconds to make, kept for a while with the moment that they tell about."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

#: For so long figures are kept while nothing has happened.
_MAX_AGE = timedelta(minutes=10)
#: What takes longer than this is kept for a minute even if something has happened since: close to a
#: deadline something always has.
_SLOW_SECONDS = 1.0
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[Value]):
    """A value with the moment that it tells about, and the state of things then."""

    value: Value
    at: datetime
    state: Hashable
    seconds: float

    def is_good(self, *, at: datetime, state: Hashable, patience: timedelta | None) -> bool:
        """Whether it will do: nothing has happened since, or not enough time has passed."""
        age = at - self.at
        if state == self.state and age < _MAX_AGE:
            return True
        if patience is None:
            patience = _MINUTE if self.seconds >= _SLOW_SECONDS else timedelta(0)
        return age < patience


class StatisticsCache:
    """Values by name; each is made by one thread at a time."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, CachedValue[Any]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(
        self,
        name: Hashable,
        make: Callable[[], Value],
        *,
        at: datetime,
        state: Hashable,
        patience: timedelta | None = None,
    ) -> CachedValue[Value]:
        """The value of this name, made anew where the kept one will not do.

        With `patience` one of that age will do, whatever has happened since. While somebody else
        makes it, the one before is given, however old.
        """
        before = self._find(name)
        if before is not None and before.is_good(at=at, state=state, patience=patience):
            return before
        with self._lock:
            making = self._making.setdefault(name, threading.Lock())
        if not making.acquire(blocking=before is None):
            assert before is not None, "who has nothing waits"
            return before
        try:
            now = self._find(name)
            if now is not None and now is not before:
                return now
            begun = time.perf_counter()
            value = make()
            kept = CachedValue(value, at, state, time.perf_counter() - begun)
            self._put(name, kept)
            return kept
        finally:
            making.release()

    def _find(self, name: Hashable) -> CachedValue[Any] | None:
        with self._lock:
            return self._kept.get(name)

    def _put(self, name: Hashable, kept: CachedValue[Any]) -> None:
        with self._lock:
            self._kept[name] = kept
            self._kept.move_to_end(name)
            while len(self._kept) > self._most:
                oldest, _ = self._kept.popitem(last=False)
                self._making.pop(oldest, None)
