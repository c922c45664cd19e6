from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import data_of, run
from tests.support.service_commands import RUN, succeed, told


def roster(text: str | bytes, *options: str) -> object:
    """What a roster would change."""
    return data_of(succeed("course", "roster", RUN, "-", "--json", *options, sent=text))


def members() -> dict[str, str]:
    return {each["login"]: each["role"] for each in told("course", "show", RUN)["members"]}


@pytest.mark.usefixtures("folder")
def test_a_course_run_is_added_before_the_service_ever_ran() -> None:
    succeed(
        "course", "add", RUN, "--course", "attention", "--title", "Attention",
        "--time-zone", "Europe/Warsaw",
    )  # fmt: skip

    (listed,) = told("course", "list")
    assert (listed["id"], listed["course"]) == (RUN, "attention")
    assert listed["time_zone"] == "Europe/Warsaw"


def test_a_course_is_shown_with_everybody_in_it(course: str) -> None:
    shown = succeed("course", "show", course).stdout

    assert "Ada Lovelace" in shown
    assert members() == {"ada": "student", "grace": "instructor"}
    assert told("course", "list")[0]["counts"] == {"student": 1, "assistant": 0, "instructor": 1}


@pytest.mark.usefixtures("course")
def test_a_dry_run_shows_and_changes_nothing(folder: Path) -> None:
    (folder / "next.csv").write_text("login,name,shoe\neve,Eve [bold]x,38\n")
    result = succeed("course", "roster", RUN, "next.csv", "--complete", "--dry-run")

    assert "eve    Eve [bold]x" in result.stdout
    assert "1 new, 1 leaves, 0 unchanged." in result.stdout
    assert "The column 'shoe' is ignored." in result.stdout
    assert members() == {"ada": "student", "grace": "instructor"}


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize(("typed", "is_changed"), [("y\n", True), ("n\n", False)])
def test_a_roster_is_applied_after_asking(folder: Path, typed: str, is_changed: bool) -> None:
    (folder / "next.csv").write_text("login,name\neve,Eve\n")
    result = run("course", "roster", RUN, "next.csv", sent=typed)

    assert result.exit_code == 0
    assert result.stdout.endswith("Done.\n" if is_changed else "Nothing was changed.\n")
    assert ("eve" in members()) is is_changed


@pytest.mark.usefixtures("course")
def test_a_roster_that_changes_nothing_asks_nothing(folder: Path) -> None:
    result = run("course", "roster", RUN, "roster.csv", "--complete", sent="")

    assert result.exit_code == 0
    assert result.stdout == "2 unchanged.\n"


@pytest.mark.usefixtures("course")
def test_a_roster_is_data_for_programs() -> None:
    plan = roster("login,name,section\nada,Ada King,B\n", "--complete", "--yes")

    assert isinstance(plan, dict)
    assert plan["applied"] is True
    assert plan["counts"]["changed"] == 1
    assert plan["changes"][0]["differences"] == [
        {"field": "name", "before": "Ada Lovelace", "after": "Ada King"},
        {"field": "section", "before": "", "after": "B"},
    ]


@pytest.mark.usefixtures("course")
def test_a_long_roster_is_shown_in_part() -> None:
    text = "login,name\n" + "".join(f"s{number},Student\n" for number in range(100))
    result = succeed("course", "roster", RUN, "-", "--dry-run", sent=text)

    assert "… and 60 more; --json lists all." in result.stdout
    assert "100 new, 0 unchanged." in result.stdout


@pytest.mark.usefixtures("course")
def test_all_faults_of_a_roster_are_told_with_their_lines() -> None:
    text = "login,name,role\na b,Ada,\nbob,Bob,boss\n"
    shown = run("course", "roster", RUN, "-", "--yes", sent=text)
    problem = data_of(run("course", "roster", RUN, "-", "--yes", "--json", sent=text))

    assert shown.exit_code == 2
    assert "it has 2 errors" in shown.stderr
    assert "Line 3: 'boss' is not a role" in shown.stderr
    pointers = [each["pointer"] for each in problem["errors"]]
    assert pointers == ["#/csv/2/login", "#/csv/3/role"]


@pytest.mark.usefixtures("course")
def test_a_roster_that_is_no_utf_8_says_how_to_save_it() -> None:
    sent = "login,name\nrene,René\n".encode("latin-1")
    result = run("course", "roster", RUN, "-", "--yes", sent=sent)

    assert result.exit_code == 2
    assert "Line 2 is not UTF-8 text. Save the file again as “CSV UTF-8”." in result.stderr


def test_one_person_is_enrolled_and_leaves(course: str) -> None:
    succeed("user", "add", "tom", "--name", "Tom")
    succeed("course", "enrol", course, "tom", "--role", "assistant", "--section", "B")
    assert members()["tom"] == "assistant"

    succeed("course", "leave", course, "tom")
    assert "tom" not in members()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["course", "show", "x"], "There is no course run 'x'. There are", id="run"),
        pytest.param(["course", "show", "\udcff"], "There is no course run", id="no text"),
        pytest.param(["course", "enrol", RUN, "eve"], "nobody with the login eve", id="nobody"),
        pytest.param(["course", "enrol", RUN, "ada", "--role", "boss"], "Invalid", id="role"),
        pytest.param(
            ["course", "enrol", RUN, "ada", "--section", "x" * 101], "one line", id="long"
        ),
        pytest.param(["course", "roster", RUN, "none.csv"], "cannot be read", id="no file"),
        pytest.param(["course", "roster", RUN, "-"], "needs --yes", id="nobody to ask"),
        pytest.param(
            ["course", "add", RUN, "--course", "attention", "--title", "T"], "already", id="twice"
        ),
        pytest.param(
            ["course", "add", "A B", "--course", "attention", "--title", "T"], "letters", id="name"
        ),
        pytest.param(
            ["course", "add", "b", "--course", "c", "--title", "T", "--time-zone", "Nowhere"],
            "not a time zone",
            id="zone",
        ),
        pytest.param(
            ["course", "add", "b", "--course", "c", "--title", " "], "1 to 200", id="title"
        ),
    ],
)
@pytest.mark.usefixtures("course")
def test_a_wrong_call_is_explained(arguments: list[str], words: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_who_does_not_take_part_cannot_leave(course: str) -> None:
    succeed("user", "add", "tom", "--name", "Tom")

    assert "tom is not a member of" in run("course", "leave", course, "tom").stderr
