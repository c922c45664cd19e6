from __future__ import annotations

from pathlib import Path

import pytest

from grader.store.migrations import list_revisions
from tests.support.command_line import data_of, run
from tests.support.service_commands import succeed, told


@pytest.mark.usefixtures("folder")
def test_an_empty_database_is_brought_up_to_date_once() -> None:
    checked = run("migrate", "--check", "--json")
    assert checked.exit_code == 1
    assert data_of(checked)["pending"] == list_revisions()

    assert told("migrate")["revisions"] == list_revisions()
    assert succeed("migrate").stdout == "Nothing to do.\n"
    assert "is up to date" in succeed("migrate", "--check").stdout


def test_going_back_asks_first(folder: Path) -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    assert run("migrate", "--to", "base", sent="n\n").exit_code == 1
    assert len(told("user", "list")) == 1

    succeed("migrate", "--to", "base", "--yes")
    assert "has no tables yet" in run("user", "list").stderr


@pytest.mark.usefixtures("folder")
def test_an_unknown_revision_is_explained() -> None:
    result = run("migrate", "--to", "9999")

    assert result.exit_code == 2
    assert "There is no revision 9999." in result.stderr
