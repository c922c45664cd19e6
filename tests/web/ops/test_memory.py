"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform

import psutil
import pytest

from grader.web.ops.memory import give_back_memory

MIB = 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to")
def test_pages_between_pieces_in_use_are_given_back() -> None:
    pieces = [bytes(3000) for _ in range(20_000)]
    # The last piece stays, too, so that the heap cannot shrink at its end.
    kept = pieces[::-50]
    del pieces
    before = psutil.Process().memory_info().rss
    give_back_memory()
    after = psutil.Process().memory_info().rss

    assert len(kept) == 400
    assert before - after > 30 * MIB
