"""Bring the documentation up to date: outputs of commands, pictures, generated pages.

Run by `make docs`. What changes is then read by a person, in the diff.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from grader.rubric.reference import render_reference
from tests.docs.command_line import with_tables
from tests.docs.http_calls import read_spec, render_http_reference
from tests.docs.pages import (
    ROOT,
    CommandStep,
    Workshop,
    list_pages,
    name_of,
    read_steps,
    shorten,
    tidy,
)
from tests.docs.pictures import differences
from tests.docs.promises import PAGE as PROMISES_PAGE
from tests.docs.promises import with_promises
from tests.docs.service_pages import SERVICE_PAGES, follow, read_shell_steps, served_demo
from tests.docs.store_tables import with_columns


def refresh() -> None:
    """Write everything that can be made anew."""
    reference = ROOT / "docs" / "reference"
    _write(reference / "rubric.md", render_reference(reference / "sample"))
    commands = reference / "command-line.md"
    _write(commands, with_tables(commands.read_text(encoding="utf-8")))
    store = reference / "store.md"
    _write(store, with_columns(store.read_text(encoding="utf-8")))
    _write(reference / "http.md", render_http_reference(read_spec()))
    _write(PROMISES_PAGE, with_promises(PROMISES_PAGE.read_text(encoding="utf-8")))
    for page in list_pages():
        with tempfile.TemporaryDirectory() as folder:
            workshop = Workshop(Path(folder))
            _write(page, refreshed(page.read_text(encoding="utf-8"), workshop))
            for picture in (workshop.folder / "docs" / "pictures").iterdir():
                _take_picture(picture, ROOT / "docs" / "pictures" / picture.name)
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        with served_demo(workshop):
            for page in SERVICE_PAGES:
                _write(page, refreshed_by_shell(page.read_text(encoding="utf-8"), workshop))


def refreshed(text: str, workshop: Workshop) -> str:
    """A page whose commands show what they print now."""
    parts, done = [], 0
    for step in read_steps(text):
        printed = workshop.take(step)
        if isinstance(step, CommandStep):
            lines = shorten(tidy(printed), tidy(step.shown))
            parts += [text[done : step.start], "".join(f"{line}\n" for line in lines)]
            done = step.end
    return "".join([*parts, text[done:]])


def refreshed_by_shell(text: str, workshop: Workshop) -> str:
    """A page about the service whose blocks show what is printed now."""
    parts, done = [], 0
    steps = read_shell_steps(text)
    for step, (printed, _) in zip(steps, follow(workshop, steps), strict=True):
        if step.shown is not None:
            lines = shorten(tidy(printed), tidy(step.shown))
            parts += [text[done : step.start], "".join(f"{line}\n" for line in lines)]
            done = step.end
    return "".join([*parts, text[done:]])


def _take_picture(made: Path, kept: Path) -> None:
    # Pictures that differ in the last digits only are left alone.
    if not kept.is_file() or differences(made.read_text("utf-8"), kept.read_text("utf-8")):
        shutil.copy(made, kept)
        print(f"{name_of(kept)} is new")


def _write(page: Path, text: str) -> None:
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
        print(f"{name_of(page)} is new")


if __name__ == "__main__":
    refresh()
