"""docs/architecture.md and CONTRIBUTING.md: the files that they name exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name_of, read_tables

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"

#: A file or folder between backticks; `(new)` behind it says that it does not exist.
_PATH = re.compile(r"`([\w.-][\w./-]*/(?:[\w.-]+\.(?:py|html|md|toml|yaml))?)`( \(new\))?")


def list_paths(page: Path) -> list[tuple[str, bool]]:
    """What a page names, each with whether it is marked as new."""
    return [(path, bool(mark)) for path, mark in _PATH.findall(page.read_text(encoding="utf-8"))]


def exists(path: str) -> bool:
    """Whether a file or folder exists at the top of the repository or inside grader/."""
    found = [each for each in (ROOT / path, ROOT / "grader" / path) if each.exists()]
    return any(each.is_dir() == path.endswith("/") for each in found)


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=name_of)
def test_every_named_file_exists_unless_it_is_marked_as_new(page: Path) -> None:
    paths = list_paths(page)

    assert len(paths) > 50
    assert [path for path, is_new in paths if exists(path) == is_new] == []


def test_only_the_worked_examples_name_new_files() -> None:
    before, _, _ = CONTRIBUTING.read_text(encoding="utf-8").partition("## Three changes")

    assert "` (new)" not in before + ARCHITECTURE.read_text(encoding="utf-8")


def test_the_layers_are_those_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["type"] == "layers")
    table = next(read_tables(ARCHITECTURE.read_text(encoding="utf-8")))

    # A layer in parentheses is not written yet.
    assert [set(re.findall(r"grader/(\w+)", row["packages"])) for row in table.rows] == [
        set(re.findall(r"(?<!\()grader\.(\w+)", layer)) for layer in layers
    ]
