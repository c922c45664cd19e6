"""The turnstile: how much of what arrives at once is taken up in one turn of the event loop.

A loop takes up whatever has arrived before it looks again, and two hundred requests that arrive
together are a tenth of a second and more. A short request that comes a moment later would wait for
all of them. So only some of them enter in a turn, in the order of coming, and whatever is urgent
goes past them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: Where the server finds the turnstile, in the state that the lifespan leaves to all requests.
TURNSTILE = "keyset.turnstile"

#: To take up a request takes about a millisecond.
_ENTER_PER_TURN = 3
_SECONDS_EACH = 0.004


class Turnstile:
    """Lets callbacks enter, a few in each turn of the event loop.

    Parameters
    ----------
    enter_per_turn
        How many enter in a turn, however short it is.
    seconds_each
        In a long turn one enters for each of these: whatever goes past must not take all the time.
    """

    def __init__(
        self, enter_per_turn: int = _ENTER_PER_TURN, seconds_each: float = _SECONDS_EACH
    ) -> None:
        self._enter_per_turn = enter_per_turn
        self._seconds_each = seconds_each
        self._began_at = 0.0
        self._left = enter_per_turn
        self._waiting = deque[Callable[[], object]]()
        self._is_turning = False

    def may_enter(self) -> bool:
        """Whether somebody may enter at once, and if so, note that they do."""
        if not self._left:
            return False
        self._left -= 1
        self._await_next_turn()
        return True

    def wait(self, enter: Callable[[], object]) -> None:
        """Call a function in one of the next turns, after those that wait already."""
        self._waiting.append(enter)
        self._await_next_turn()

    async def enter(self) -> None:
        """Wait until one may enter."""
        if not self.may_enter():
            entered = asyncio.get_running_loop().create_future()
            self.wait(lambda: None if entered.done() else entered.set_result(None))
            await entered

    def _await_next_turn(self) -> None:
        if not self._is_turning:
            self._is_turning = True
            loop = asyncio.get_running_loop()
            self._began_at = loop.time()
            loop.call_soon(self._begin_turn, loop)

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let those who waited longest enter; the rest of the turn is for newcomers."""
        self._is_turning = False
        lasted = loop.time() - self._began_at
        self._left = places = max(self._enter_per_turn, int(lasted / self._seconds_each))
        try:
            while self._left and self._waiting:
                self._left -= 1
                self._waiting.popleft()()
        finally:
            if self._left < places:
                self._await_next_turn()
