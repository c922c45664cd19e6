"""The pages of the documentation: their blocks and tables, and how to follow their steps.

Two kinds of fenced blocks are steps. A block whose first line is a comment with a path writes that
file, or adds to it: ``# my-rubrics/warm-up/thirds.yaml``, ``# add to my-rubrics/…``. In a
``console`` block a line behind ``$`` is a command, and the lines below are what it prints; a line
``…`` stands for any lines left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = "…"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"# (?P<adds>add to )?(?P<path>[\w./-]+\.\w+)")
_CELL = re.compile(r"(?<!\\)\|")


def list_pages() -> list[Path]:
    """README, CONTRIBUTING, SECURITY and everything under docs/."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    """The page's path inside the repository."""
    return page.relative_to(ROOT).as_posix()


def make_anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `start` is where its text begins in the page."""

    language: str
    text: str
    start: int


def read_blocks(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    return [Block(match[1], match[2], match.start(2)) for match in _FENCE.finditer(text)]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its headings, and its rows by heading."""

    headings: tuple[str, ...]
    rows: tuple[dict[str, str], ...]


def read_tables(text: str) -> Iterator[Table]:
    """All tables of a page that stand outside of fenced blocks."""
    for lines in re.findall(r"(?:^\|.*\|$\n?)+", _FENCE.sub("", text), re.MULTILINE):
        heading, _, *rows = [_cells(line) for line in lines.splitlines()]
        yield Table(tuple(heading), tuple(dict(zip(heading, row, strict=True)) for row in rows))


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]]


def code(cell: str) -> str:
    """The text between the backticks of a cell."""
    match = re.fullmatch(r"(`+) ?(.*?) ?\1", cell)
    assert match is not None, f"{cell} is not between backticks"
    return match[2]


@dataclass(frozen=True, slots=True)
class FileStep:
    """A file that a page tells to write, or what it tells to add to one."""

    path: str
    text: str
    adds: bool


@dataclass(frozen=True, slots=True)
class CommandStep:
    """A command with what it prints; `start` and `end` enclose the latter in the page."""

    command: str
    shown: str
    start: int
    end: int


def read_steps(text: str) -> list[FileStep | CommandStep]:
    """What a page tells its reader to do, in order."""
    steps: list[FileStep | CommandStep] = []
    for block in read_blocks(text):
        first, _, rest = block.text.partition("\n")
        if block.language == "console":
            steps.extend(_commands(block))
        elif match := _PATH.fullmatch(first):
            adds = match["adds"] is not None
            steps.append(FileStep(match["path"], rest if adds else block.text, adds))
    return steps


def _commands(block: Block) -> Iterator[CommandStep]:
    for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        yield CommandStep(
            match[1], match[2], block.start + match.start(2), block.start + match.end(2)
        )


@dataclass(slots=True)
class Workshop:
    """A folder that looks like a fresh clone to a page's commands, with `grader` on the path."""

    folder: Path
    last_code: int = 0

    def __post_init__(self) -> None:
        binaries = self.folder / ".venv" / "bin"
        binaries.mkdir(parents=True)
        (self.folder / "docs" / "pictures").mkdir(parents=True)
        for name in ("rubrics", "docs/reference"):
            (self.folder / name).symlink_to(ROOT / name)
        grader = binaries / "grader"
        run = "import sys; from grader.cli.main import main; sys.argv[0] = 'grader'; main()"
        grader.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{run}" "$@"\n')
        grader.chmod(0o755)

    def take(self, step: FileStep | CommandStep) -> str:
        """Do what a step says; for a command, all that it prints."""
        if isinstance(step, CommandStep):
            return self.run(step.command)
        path = self.folder / step.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if step.adds else "w", encoding="utf-8") as file:
            file.write(step.text)
        return ""

    def run(self, command: str) -> str:
        """All that a command prints, in the order of a terminal of eighty columns."""
        binaries = self.folder / ".venv" / "bin"
        done = subprocess.run(
            # The code of the command before is handed on, for `echo $?`.
            ["sh", "-c", f"(exit {self.last_code})\n{command}"],
            cwd=self.folder,
            env={
                "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(self.folder),
                "LC_ALL": "C.UTF-8",
                "COLUMNS": "80",
                "OPENBLAS_NUM_THREADS": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        self.last_code = done.returncode
        return done.stdout.decode()


def tidy(printed: str) -> list[str]:
    """What was printed, without spaces at the ends of lines and empty lines at the end."""
    return "\n".join(line.rstrip() for line in printed.splitlines()).rstrip().splitlines()


def shorten(printed: list[str], like: list[str]) -> list[str]:
    """Leave out of what was printed what the page leaves out.

    A page keeps as many lines as it shows before and behind its `…`.
    """
    if LEFT_OUT not in like:
        return printed
    before = like.index(LEFT_OUT)
    behind = len(like) - before - 1
    return [*printed[:before], LEFT_OUT, *printed[len(printed) - behind :]]
