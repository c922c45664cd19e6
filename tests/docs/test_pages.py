"""All pages: their commands are run, their links followed, their promises kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.rubric.catalog import get_shipped_folder, load_catalog
from tests.docs.pages import (
    ROOT,
    CommandStep,
    Workshop,
    list_pages,
    make_anchor,
    name_of,
    read_blocks,
    read_steps,
    shorten,
    tidy,
)
from tests.docs.pictures import differences
from tests.docs.screenshots import SHOTS

README = ROOT / "README.md"
PAGES = list_pages()
MEND = "run `make docs` and read what it changes"

_LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
_SHORTENED = re.compile(r"# (\S+), shortened\n")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    text = read(page)
    for block in read_blocks(text):
        text = text.replace(block.text, "")
    return text


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    return set(map(make_anchor, re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)))


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]+`", "", prose(page))
    return [each for each in _LINK.findall(text) if "://" not in each]


WITH_STEPS = [page for page in PAGES if read_steps(read(page))]


@pytest.mark.parametrize("page", WITH_STEPS, ids=name_of)
def test_following_a_page_literally_gives_what_it_shows(page: Path, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    for step in read_steps(read(page)):
        printed = tidy(workshop.take(step))
        if isinstance(step, CommandStep):
            shown = tidy(step.shown)
            assert shorten(printed, shown) == shown, f"{step.command}: {MEND}"

    for picture in (tmp_path / "docs" / "pictures").iterdir():
        kept = ROOT / "docs" / "pictures" / picture.name
        assert not differences(read(picture), read(kept)), MEND


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in links(index)}

    assert linked == set(PAGES) - {index, README}


def test_every_picture_is_written_by_a_command_on_a_page() -> None:
    commands = " ".join(
        step.command
        for page in PAGES
        for step in read_steps(read(page))
        if isinstance(step, CommandStep)
    )

    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        assert f"--plot {name_of(picture)}" in commands


def test_every_screenshot_is_taken_by_the_tool_and_shown() -> None:
    taken = {f"docs/pictures/{shot.name}.png" for shot in SHOTS}
    shown = {
        name_of((page.parent / link).resolve())
        for page in PAGES
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", read(page))
    }

    assert {name_of(each) for each in (ROOT / "docs" / "pictures").glob("*.png")} == taken
    assert shown == taken
    assert len(taken) == 10


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_make_command_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):.*## ", read(ROOT / "Makefile"), re.MULTILINE))

    assert set(re.findall(r"(?:`|^)make ([a-z]+)", read(page), re.MULTILINE)) <= targets


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shortened_files_show_what_stands_in_them(page: Path) -> None:
    for block in read_blocks(read(page)):
        if match := _SHORTENED.match(block.text):
            whole = read(ROOT / match[1])
            for piece in block.text[match.end() :].split("# …\n"):
                assert piece in whole, f"{match[1]} has no such piece: {piece}"


def test_the_readme_is_short_and_says_how_to_begin_and_how_to_test() -> None:
    text = read(README)

    assert len(text.splitlines()) < 150
    assert "\nmake run\n" in text
    assert "`make test`" in text
    assert "(LICENSE)" in text


def test_the_readme_counts_the_shipped_questions() -> None:
    catalog = load_catalog(get_shipped_folder())

    assert f"{len(list(catalog.rubrics()))} questions" in read(README)
    assert len(catalog.assignments) == 3
    assert "three assignments" in " ".join(read(README).split())


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").iterdir()), ids=name_of)
def test_a_decision_is_told_in_twenty_to_forty_lines(page: Path) -> None:
    text = read(page)

    assert 20 <= len(text.splitlines()) <= 40
    assert re.match(rf"# {page.name[:4]} .+\n\n(Accepted|Superseded by .+), \w+ \d{{4}}\.", text)
    assert {"## The question", "## Decided", "## What follows"} <= set(text.splitlines())
