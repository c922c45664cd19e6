"""Fixtures for commands that work on the service's database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service_commands import ROSTER, RUN, succeed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of an operator whose service never ran."""
    monkeypatch.setenv("GRADER_DATA_FOLDER", str(tmp_path / "data"))
    monkeypatch.delenv("GRADER_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def course(folder: Path) -> str:
    """A course run with a student and an instructor."""
    succeed("course", "add", RUN, "--course", "attention", "--title", "Attention")
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    succeed("course", "roster", RUN, "roster.csv", "--yes")
    return RUN
