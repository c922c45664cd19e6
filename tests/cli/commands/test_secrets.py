from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from grader.errors import OperatorError
from grader.store.database import open_database
from grader.store.queries.audit import list_signing_keys
from grader.store.sealing import find_key_id, read_sealing_keys
from tests.support.command_line import run
from tests.support.sealing import (
    NEW,
    NEW_KEYS,
    OLD,
    OLD_KEYS,
    is_anywhere,
    list_stored_secrets,
    write_key_file,
)
from tests.support.service_commands import succeed, told

GiveKeys = Callable[..., None]


@pytest.fixture
def url(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service's database, with a course run and a signing key."""
    monkeypatch.setenv("GRADER_DATA_FOLDER", str(tmp_path / "data"))
    monkeypatch.setenv("GRADER_DATABASE_URL", database_url)
    succeed("course", "add", "attention-2026", "--course", "attention", "--title", "Attention")
    succeed("secrets", "new-signing-key")
    return database_url


@pytest.fixture
def give_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GiveKeys:
    """Let the next commands have these keys; none takes the file away."""

    def give(*keys: str) -> None:
        if keys:
            path = write_key_file(tmp_path / "secret.key", *keys)
            monkeypatch.setenv("GRADER_SECRET_KEY_FILE", str(path))
        else:
            monkeypatch.delenv("GRADER_SECRET_KEY_FILE")

    return give


def stored_key_ids(url: str) -> list[str | None]:
    with closing(open_database(url)) as database:
        return [find_key_id(each) for each in list_stored_secrets(database)]


def row(key: str | None, state: str, count: int) -> dict[str, Any]:
    return {"key": key, "state": state, "runs": count, "signing_keys": count}


def test_a_new_key_is_printed_alone_and_can_seal() -> None:
    printed = succeed("secrets", "new-key")

    assert len(read_sealing_keys(printed.stdout, source="it").keys) == 1
    assert printed.stdout.count("\n") == 1
    assert printed.stderr == ""


def test_secrets_are_sealed_rotated_and_unsealed_and_verify_is_content(
    url: str, give_keys: GiveKeys
) -> None:
    old, new = OLD_KEYS.newest_id, NEW_KEYS.newest_id
    assert told("secrets", "status") == [row(None, "plain", 1)]

    give_keys(OLD)
    assert told("secrets", "status") == [row(old, "seals", 0), row(None, "plain", 1)]
    assert told("secrets", "rotate") == {"key_id": old, "runs": 1, "signing_keys": 1}
    assert told("secrets", "status") == [row(old, "seals", 1), row(None, "plain", 0)]
    assert stored_key_ids(url) == [old, old]
    assert told("verify")["fine"]

    give_keys(NEW, OLD)
    assert [each["state"] for each in told("secrets", "status")] == ["seals", "opens", "plain"]
    assert told("secrets", "rotate") == {"key_id": new, "runs": 1, "signing_keys": 1}
    give_keys(NEW)
    assert told("secrets", "status") == [row(new, "seals", 1), row(None, "plain", 0)]
    assert told("verify")["fine"]

    assert told("secrets", "rotate", "--unseal") == {"key_id": None, "runs": 1, "signing_keys": 1}
    give_keys()
    assert stored_key_ids(url) == [None, None]
    assert told("secrets", "status") == [row(None, "plain", 1)]
    assert told("verify")["fine"]


def test_the_command_leaves_no_trace_of_the_secrets(url: str, give_keys: GiveKeys) -> None:
    for number in range(20):
        run_id = f"run-{number}"
        succeed("course", "add", run_id, "--course", "attention", "--title", "Attention")
    with closing(open_database(url)) as database:
        secrets = list_stored_secrets(database)

        give_keys(OLD)
        succeed("secrets", "rotate")

        assert not any(is_anywhere(database, each) for each in secrets)


def test_a_file_that_cannot_be_rewritten_is_told_and_tried_again(
    sqlite_url: str, give_keys: GiveKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_DATABASE_URL", sqlite_url)
    give_keys(OLD)
    succeed("secrets", "new-signing-key")

    def hold(*_: object) -> NoReturn:
        raise OperatorError("The file cannot be rewritten: database is locked.")

    with monkeypatch.context() as patch:
        patch.setattr("grader.cli.commands.secrets.rewrite_file", hold)
        held = run("secrets", "rotate")

    assert held.exit_code == 2
    assert "may still have traces of them. The file cannot be rewritten: database" in held.stderr
    succeed("secrets", "rotate")


def test_what_is_printed_says_it_in_words_and_has_no_key(url: str, give_keys: GiveKeys) -> None:
    give_keys(NEW, OLD)
    printed = [
        succeed("secrets", "rotate").stdout,
        succeed("secrets", "status").stdout,
        succeed("secrets", "rotate", "--unseal").stdout,
        succeed("settings").stdout,
    ]

    assert printed[0] == (
        f"All secrets are sealed by the key {NEW_KEYS.newest_id}. "
        "Changed: 1 of course runs, 1 signing keys.\n"
    )
    assert f"{NEW_KEYS.newest_id}  seals" in printed[1]
    assert "All secrets are stored as they are. Changed: 1 of" in printed[2]
    assert not any(key in each for key in (OLD, NEW) for each in printed)


def test_a_key_in_the_variable_is_used_and_not_shown(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_SECRET_KEY", OLD)
    succeed("secrets", "rotate")

    assert stored_key_ids(url) == [OLD_KEYS.newest_id] * 2
    (setting,) = [each for each in told("settings") if each["name"] == "GRADER_SECRET_KEY"]
    assert setting["is_set"]
    assert OLD not in str(setting) + succeed("settings").stdout


def test_a_course_run_that_is_added_later_is_sealed_at_once(url: str, give_keys: GiveKeys) -> None:
    give_keys(OLD)
    succeed("course", "add", "vision-2026", "--course", "vision", "--title", "Vision")
    succeed("secrets", "new-signing-key")

    assert Counter(stored_key_ids(url)) == {None: 2, OLD_KEYS.newest_id: 2}


def test_a_command_that_changes_anything_refuses_the_wrong_key(
    url: str, give_keys: GiveKeys
) -> None:
    give_keys(OLD)
    succeed("secrets", "rotate")
    calls = (
        ("secrets", "rotate"),
        ("secrets", "rotate", "--unseal"),
        ("secrets", "new-signing-key"),
        ("user", "add", "ada", "--name", "Ada"),
    )

    for keys in ((NEW,), ()):
        give_keys(*keys)
        for call in calls:
            refused = run(*call)
            assert refused.exit_code == 2
            assert f"is sealed by the key {OLD_KEYS.newest_id}, which was not" in refused.stderr
            assert "GRADER_SECRET_KEY_FILE" in refused.stderr
    assert stored_key_ids(url) == [OLD_KEYS.newest_id] * 2


def test_status_and_verify_name_what_cannot_be_opened(url: str, give_keys: GiveKeys) -> None:
    give_keys(OLD)
    succeed("secrets", "rotate")
    give_keys(NEW)

    status, verified = run("secrets", "status"), run("verify")

    assert (status.exit_code, verified.exit_code) == (1, 1)
    assert f"{OLD_KEYS.newest_id}  missing" in status.stdout
    for printed in (status.stdout, verified.stdout):
        assert f"runs/attention-2026/secret is sealed by the key {OLD_KEYS.newest_id}" in printed
    assert "secrets: runs attention-2026: " in verified.stdout


def test_without_a_key_there_is_nothing_to_rotate_to(url: str) -> None:
    refused = run("secrets", "rotate")

    assert refused.exit_code == 2
    assert "`grader secrets new-key` prints a key." in refused.stderr
    assert told("secrets", "rotate", "--unseal") == {"key_id": None, "runs": 0, "signing_keys": 0}


def test_a_new_signing_key_is_added_beside_the_older_ones_and_audited(url: str) -> None:
    made = told("secrets", "new-signing-key")

    with closing(open_database(url)) as database, database.read() as session:
        newest, older = list_signing_keys(session)
    assert newest == made["id"]
    assert older != newest
    assert "Restart the service" in succeed("secrets", "new-signing-key").stdout
    assert told("verify")["fine"]


def test_a_signing_key_that_would_not_sign_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored_key_ids(url)
    monkeypatch.setattr(
        "grader.cli.commands.secrets.read_clock", lambda: datetime(2020, 1, 1, tzinfo=UTC)
    )

    refused = run("secrets", "new-signing-key")

    assert refused.exit_code == 2
    assert "the clock of this machine is behind" in refused.stderr
    assert stored_key_ids(url) == before
