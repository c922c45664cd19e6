"""The keys that seal secrets come from a private file or from a variable."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from grader.cli.database import load_sealing_keys
from grader.errors import OperatorError
from grader.settings import Settings
from grader.store.sealing import NO_SEALING_KEYS
from tests.support.sealing import BOTH_KEYS, NEW, OLD, OLD_KEYS, write_key_file


def load(*, file: Path | str = "", variable: str = "") -> object:
    return load_sealing_keys(Settings(secret_key_file=str(file), secret_key=SecretStr(variable)))


def test_by_default_there_are_no_keys() -> None:
    assert load() == NO_SEALING_KEYS


def test_keys_come_from_a_file_or_a_variable(tmp_path: Path) -> None:
    assert load(file=write_key_file(tmp_path / "keys", NEW, OLD)) == BOTH_KEYS
    assert load(variable=f"{NEW} {OLD}") == BOTH_KEYS
    assert load(variable=OLD) == OLD_KEYS


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640, 0o440])
def test_the_owner_and_a_group_may_read_the_file(tmp_path: Path, mode: int) -> None:
    assert load(file=write_key_file(tmp_path / "keys", OLD, mode=mode)) == OLD_KEYS


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
def test_a_file_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_key_file(tmp_path / "keys", OLD, mode=mode)

    with pytest.raises(OperatorError, match=rf"others may read or change .*mode {mode:04o}.*chmod"):
        load(file=path)


def test_what_cannot_be_used_is_explained_without_showing_it(tmp_path: Path) -> None:
    nothing, binary, words = tmp_path / "nothing", tmp_path / "binary", tmp_path / "words"
    binary.write_bytes(b"\xff\xfe")
    for path in (binary, write_key_file(words, "hunter2")):
        path.chmod(0o600)

    with pytest.raises(OperatorError, match="nothing cannot be read: No such file"):
        load(file=nothing)
    with pytest.raises(OperatorError, match="cannot be read: Is a directory"):
        load(file=tmp_path)
    with pytest.raises(OperatorError, match="binary is not a text file"):
        load(file=binary)
    with pytest.raises(OperatorError, match="words is not a key") as refused:
        load(file=words)
    assert "hunter2" not in str(refused.value)
    with pytest.raises(OperatorError, match="but not both"):
        load(file=words, variable=OLD)
