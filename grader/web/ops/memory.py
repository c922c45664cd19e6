"""Memory that was freed, given back to the system.

The C library keeps what was freed for the next allocation, also whole pages between pieces that are
in use. Requests of all sorts leave ever more of such pages: after a hundred thousand of them, a
quarter of the process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def _find_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    return trim


# Only glibc has it; others give memory back by themselves, or never.
_trim = _find_trim()


def give_back_memory() -> None:
    """Give back the pages that nothing uses; this takes some milliseconds without Python's lock."""
    if _trim is not None:
        _trim(0)
