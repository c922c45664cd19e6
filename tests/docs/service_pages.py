"""Pages that call a service: a real `grader serve --demo`, and a shell that follows them.

What stands in a ``sh`` block is typed into one shell, block after block. A ``text`` block right
below one is what it prints; a line ``…`` stands for any lines left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import ROOT, Workshop, read_blocks

#: In the order in which a newcomer reads them.
SERVICE_PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorial" / "first-answer.md",
    ROOT / "docs" / "how-to" / "grade-a-course-by-api.md",
]

#: What the service prints when all answers of the demo are there.
COMPLETE = "The demo course is complete."

_FENCE = "```"
# A character that no command prints.
_END = "\x1e"


@dataclass(frozen=True, slots=True)
class ShellStep:
    """What is typed, and what is shown of what it prints, at its place in the page."""

    typed: str
    shown: str | None
    start: int
    end: int


def read_shell_steps(text: str) -> list[ShellStep]:
    """What a page tells its reader to type, in order; the service itself runs already."""
    blocks = [*read_blocks(text), None]
    steps = []
    for block, below in pairwise(blocks):
        if block is None or block.language != "sh" or block.text.startswith("make "):
            continue
        end = block.start + len(block.text)
        shown, start = None, end
        if below is not None and below.language == "text":
            between = text[end : below.start].removeprefix(_FENCE)
            if between.strip() == f"{_FENCE}text":
                shown, start = below.text, below.start
        steps.append(ShellStep(block.text, shown, start, start + len(shown or "")))
    return steps


def follow(workshop: Workshop, steps: list[ShellStep]) -> list[tuple[str, int]]:
    """Type everything into one shell; what each step printed, and its exit code."""
    script = "".join(f"{step.typed}printf '%s{_END}' $?\n" for step in steps)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=workshop.folder,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    printed = done.stdout.decode().split(_END)[:-1]
    assert len(printed) == len(steps), f"the shell ended too early: {printed[-1:]}"
    return [_with_code(each) for each in printed]


def _with_code(printed: str) -> tuple[str, int]:
    text = printed.rstrip("0123456789")
    return text, int(printed[len(text) :])


@contextmanager
def served_demo(workshop: Workshop) -> Iterator[dict[str, str]]:
    """Serve the demo as `make run` does, on any port, and give what its file of exports says."""
    folder = workshop.folder / ".demo"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    with (workshop.folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", "serve", "--demo", "--port", "0"],
            cwd=ROOT,
            env={**environment, "GRADER_DATA_FOLDER": str(folder), "OPENBLAS_NUM_THREADS": "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _wait(process, folder / "demo.env", workshop.folder / "log.txt")
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], file: Path, log: Path) -> dict[str, str]:
    while not file.is_file():
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    exports = read_exports(file)
    with urllib.request.urlopen(f"{exports['KEYSET']}/readyz", timeout=60) as answer:
        assert answer.status == 200
    while COMPLETE not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    return exports


def read_exports(file: Path) -> dict[str, str]:
    """The variables of a file of exports."""
    lines = file.read_text().splitlines()
    return dict(line.removeprefix("export ").split("=", 1) for line in lines)
