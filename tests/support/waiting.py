"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

_MAX_SECONDS = 30


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something has happened, for half a minute at most."""
    deadline = time.monotonic() + _MAX_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
