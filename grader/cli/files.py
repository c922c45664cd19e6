"""Files that commands read; `-` is standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from grader.errors import OperatorError


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises
    ------
    OperatorError
        If the file cannot be opened.
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        yield file


def load_bytes(path: Path, *, max_bytes: int) -> bytes:
    """Read a file; of a larger one `max_bytes + 1` bytes, which the caller then refuses."""
    with open_input(path) as file:
        return file.read(max_bytes + 1)
