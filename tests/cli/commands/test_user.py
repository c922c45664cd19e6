from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.accounts.sign_in import find_password, verify_password
from grader.errors import NotSignedIn
from tests.support.audit_entries import list_audit_entries
from tests.support.command_line import data_of, run
from tests.support.service_commands import reading, succeed, told

pytestmark = pytest.mark.usefixtures("folder")


def test_the_first_account_is_added_before_the_service_ever_ran(folder: Path) -> None:
    succeed("user", "add", "ada", "--name", "Ada Lovelace", "--email", "ada@example.edu")

    (ada,) = told("user", "list")
    assert (ada["login"], ada["name"], ada["email"]) == ("ada", "Ada Lovelace", "ada@example.edu")
    assert ada["is_operator"] is False
    assert (folder / "data" / "keyset.sqlite").stat().st_mode & 0o077 == 0
    with reading(folder) as session:
        assert [each.by for each in list_audit_entries(session)] == ["operator"]


def test_a_database_that_is_not_there_is_told_and_not_made(folder: Path) -> None:
    result = run("user", "list")

    assert result.exit_code == 2
    assert "There is no database" in result.stderr
    assert not (folder / "data").exists()


def test_a_database_without_tables_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other.sqlite").touch()
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{folder / 'other.sqlite'}")

    result = run("user", "list")

    assert result.exit_code == 2
    assert "has no tables yet. `grader migrate` brings it up to date." in result.stderr


def test_a_login_that_is_taken_is_refused() -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    result = run("user", "add", "Ada", "--name", "Ada", "--json")

    assert result.exit_code == 2
    assert data_of(result)["code"] == "person.exists"


def test_everything_that_is_wrong_is_told_at_once() -> None:
    result = run("user", "add", "a/b", "--name", " ")
    problem = data_of(run("user", "add", "a/b", "--name", " ", "--json"))

    assert result.exit_code == 2
    assert "A login has no spaces" in result.stderr
    assert "A name has 1 to 200 characters." in result.stderr
    assert [each["pointer"] for each in problem["errors"]] == ["#/login", "#/name"]


def test_a_link_is_alone_on_standard_output() -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    result = succeed("user", "link", "ada", "--base-url", "https://grader.example.edu/")

    assert result.stdout.startswith("https://grader.example.edu/sign-in/")
    assert len(result.stdout.splitlines()) == 1
    assert "The link works once, until" in result.stderr


def test_a_link_leads_to_where_the_service_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_PORT", "9000")
    succeed("user", "add", "ada", "--name", "Ada")
    link = told("user", "link", "ada")

    assert link["url"].startswith("http://localhost:9000/sign-in/")
    assert datetime.fromisoformat(link["expires_at"]) > datetime.now(UTC)


def test_a_password_is_asked_for_twice(folder: Path) -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    typed = "correct horse\nwrong horse\ncorrect horse\ncorrect horse\n"
    succeed("user", "password", "ada", sent=typed)

    with reading(folder) as session:
        assert verify_password(find_password(session, login="ada"), "correct horse")


def test_a_password_comes_from_standard_input_and_goes_again(folder: Path) -> None:
    succeed("user", "add", "ada", "--name", "A", "--password-stdin", sent="correct horse\n")
    with reading(folder) as session:
        assert verify_password(find_password(session, login="ada"), "correct horse")
    succeed("user", "password", "ada", "--remove")

    with reading(folder) as session, pytest.raises(NotSignedIn):
        verify_password(find_password(session, login="ada"), "correct horse")


def test_an_account_with_a_password_that_is_too_short_is_not_made() -> None:
    result = run("user", "add", "ada", "--name", "Ada", "--password-stdin", sent="short\n")

    assert result.exit_code == 2
    assert "A password has 10 to 200 characters." in result.stderr
    assert told("user", "list") == []


def test_an_account_is_changed_as_told() -> None:
    succeed("user", "add", "ada", "--name", "Ada", "--email", "ada@example.edu")
    succeed("user", "change", "ada", "--name", "Ada King", "--email", "", "--operator")

    (ada,) = told("user", "list")
    assert (ada["name"], ada["email"], ada["is_operator"]) == ("Ada King", None, True)


def test_an_account_ends_after_asking() -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    asked = run("user", "end", "ada", sent="n\n")
    assert (asked.exit_code, len(told("user", "list"))) == (1, 1)

    succeed("user", "end", "ada", "--yes")
    assert told("user", "list") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["user", "link", "nobody"], "nobody with the login nobody", id="nobody"),
        pytest.param(["user", "link", "a\udcffb"], "nobody with this login", id="no text"),
        pytest.param(["user", "change", "ada"], "Nothing to change; use --name", id="no change"),
        pytest.param(["user", "add", "ada"], "Missing option", id="no name"),
        pytest.param(
            ["user", "password", "ada", "--remove", "--password-stdin"], "not both", id="two ways"
        ),
    ],
)
def test_a_wrong_call_is_explained(arguments: list[str], words: str) -> None:
    succeed("user", "add", "ada", "--name", "Ada")
    result = run(*arguments)

    assert result.exit_code == 2
    assert words in result.stderr


def test_an_unusable_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_PORT", "many")
    result = run("user", "list")

    assert result.exit_code == 2
    assert "GRADER_PORT" in result.stderr
