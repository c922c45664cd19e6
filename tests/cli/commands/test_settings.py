from __future__ import annotations

import pytest

from grader.cli.database import remove_password
from grader.settings import Settings
from tests.support.command_line import run
from tests.support.service_commands import succeed, told


def test_every_setting_is_listed_with_what_it_means() -> None:
    listed = {each["name"]: each for each in told("settings")}

    assert list(listed) == [f"GRADER_{name.upper()}" for name in Settings.model_fields]
    assert all(each["description"] for each in listed.values())
    assert listed["GRADER_PORT"]["default"] == 8000
    shown = succeed("settings").stdout
    assert all(name in shown for name in listed)


def test_what_the_environment_says_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_PORT", "9000")
    port = next(each for each in told("settings") if each["name"] == "GRADER_PORT")

    assert (port["value"], port["default"], port["is_set"]) == (9000, 8000, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:hunter2@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u:hun:t/e@r2@host/db", "postgresql://u:***@host/db"),
        ("postgresql+psycopg://:hunter2@/db", "postgresql+psycopg://:***@/db"),
        ("postgresql://host/db?user=u&password=hunter2&x=1", "postgresql://host/db?user=u&password=***&x=1"),
        ("postgresql://u@host:5432/db", "postgresql://u@host:5432/db"),
        ("sqlite:////data/keyset.sqlite", "sqlite:////data/keyset.sqlite"),
    ],
)  # fmt: skip
def test_a_password_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, address: str, shown: str
) -> None:
    monkeypatch.setenv("GRADER_DATABASE_URL", address)

    assert remove_password(address) == shown
    assert "hunter2" not in run("settings").stdout + run("settings", "--json").stdout
