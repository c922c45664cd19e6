"""Fixtures for commands that work on the service's database."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.service_commands import ROSTER, RUN, succeed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of an operator whose service never ran."""
    _stand_in(tmp_path, monkeypatch)
    return tmp_path


def _stand_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("GRADER_DATA_FOLDER", str(folder / "data"))
    patch.delenv("GRADER_DATABASE_URL", raising=False)
    patch.chdir(folder)


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands that begin a course run leave in the working folder."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        _stand_in(folder, patch)
        succeed("course", "add", RUN, "--course", "attention", "--title", "Attention")
        (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
        succeed("course", "roster", RUN, "roster.csv", "--yes")
    return folder


@pytest.fixture
def course(folder: Path, begun: Path) -> str:
    """A course run with a student and an instructor."""
    shutil.copytree(begun, folder, dirs_exist_ok=True)
    return RUN
