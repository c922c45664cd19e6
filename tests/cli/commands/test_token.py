from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.accounts.callers import check_token
from grader.domain.roles import STUDENT_SCOPES, Scope
from grader.errors import NotSignedIn
from tests.support.command_line import run
from tests.support.service_commands import reading, succeed, told

NOW = datetime.now(UTC)


def test_a_personal_token_is_printed_alone_and_works(folder: Path, course: str) -> None:
    result = succeed("token", "add", "ada", "--label", "curl", "--quiet")

    assert result.stderr == ""
    with reading(folder) as session:
        caller = check_token(session, result.stdout.strip(), at=datetime.now(UTC))
    assert caller.person is not None
    assert (caller.person.login, caller.scopes) == ("ada", STUDENT_SCOPES)


def test_a_service_token_has_the_scopes_it_was_given(folder: Path, course: str) -> None:
    made = told(
        "token", "add", "--course", course, "--label", "dashboard",
        "--scope", "grades:read", "--scope", "course:read", "--days", "9",
    )  # fmt: skip
    with reading(folder) as session:
        caller = check_token(session, made["token"], at=datetime.now(UTC))

    assert caller.person is None
    assert caller.run_id == course
    assert caller.scopes == {Scope.GRADES_READ, Scope.READ}
    assert (datetime.fromisoformat(made["expires_at"]) - NOW).days in (8, 9)


@pytest.mark.parametrize("owner", [["ada"], ["--course", "attention-2026", "--scope", "judge"]])
def test_a_token_that_is_revoked_works_no_longer(
    folder: Path, course: str, owner: list[str]
) -> None:
    secret = succeed("token", "add", *owner, "--quiet").stdout.strip()
    (listed,) = told("token", "list")
    succeed("token", "revoke", listed["id"])

    assert listed["hint"] == secret[-4:]
    assert secret not in str(listed)
    assert told("token", "list") == []
    assert [each["id"] for each in told("token", "list", "--all")] == [listed["id"]]
    with reading(folder) as session, pytest.raises(NotSignedIn):
        check_token(session, secret, at=datetime.now(UTC))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["token", "add"], "either a person's login", id="of nobody"),
        pytest.param(["token", "add", "ada", "--course", "x"], "or --course RUN", id="of two"),
        pytest.param(
            ["token", "add", "--course", "attention-2026"], "needs a scope", id="no scope"
        ),
        pytest.param(["token", "add", "ada", "--scope", "all"], "Invalid value", id="scope"),
        pytest.param(["token", "add", "ada", "--days", "401"], "Invalid value", id="days"),
        pytest.param(["token", "add", "ada", "--label", "\n"], "1 to 200", id="label"),
        pytest.param(["token", "revoke", "tok_1"], "There is no token", id="no token"),
    ],
)
@pytest.mark.usefixtures("course")
def test_a_wrong_call_is_explained(arguments: list[str], words: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert words in result.stderr
