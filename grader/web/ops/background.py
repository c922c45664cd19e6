"""One long job at a time, in a thread beside those that answer requests."""

from __future__ import annotations

import threading
from collections.abc import Callable

#: Asked now and then by the work: whether it must end.
ShouldStop = Callable[[], bool]
Work = Callable[[ShouldStop], None]


class BackgroundRunner:
    """Runs one job at a time; whoever comes meanwhile is refused and may try again."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def reserve(self) -> bool:
        """Reserve the runner; False if a job is running or the process is stopping."""
        return not self._ending.is_set() and self._turn.acquire(blocking=False)

    def release(self) -> None:
        """Give back a reservation that was not used."""
        self._turn.release()

    def start(self, work: Work) -> None:
        """Run a job in the reservation, which ends with it."""

        def do() -> None:
            try:
                work(self._ending.is_set)
            finally:
                self._turn.release()

        self._thread = threading.Thread(target=do, name="background", daemon=True)
        self._thread.start()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for the running job; returns whether it has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)
        return thread is None or not thread.is_alive()

    def stop(self) -> None:
        """Ask the running job to end, and wait for it."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
