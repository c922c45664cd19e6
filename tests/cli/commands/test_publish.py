from __future__ import annotations

from pathlib import Path

import pytest

from grader.rubric.catalog import get_shipped_folder
from tests.support.command_line import data_of, run
from tests.support.service_commands import succeed, told

DUE = "2036-12-01 23:59"


@pytest.fixture
def tiny(folder: Path) -> Path:
    """An assignment of one question, with dates of its own."""
    return make_assignment(folder / "tiny", "due: 2036-06-01 12:00\ntime_zone: Europe/Warsaw\n")


def make_assignment(path: Path, *lines: str, broken: bool = False) -> Path:
    path.mkdir(parents=True)
    text = (get_shipped_folder() / "single-head-attention" / "1a.yaml").read_text("utf-8")
    if broken:
        assert "earns: 0" in text
        text = text.replace("earns: 0", "earns: 1", 1)
    (path / "1a.yaml").write_text(text, "utf-8")
    form = f"id: {path.name}\ntitle: Tiny\nquestions: [1a]\n" + "".join(lines)
    (path / "assignment.yaml").write_text(form, "utf-8")
    return path


def test_a_sound_assignment_is_put_in_force_with_the_runs_date(course: str, tiny: Path) -> None:
    published = told("publish", course, tiny, "--due", DUE, "--note", "the first")

    assert (published["assignment"], published["number"]) == ("tiny", 1)
    # The minute of 23:59 belongs to the students; the course run is in UTC.
    assert published["due_at"] == "2036-12-01T23:59:59+00:00"
    (shown,) = told("course", "show", course)["assignments"]
    assert shown["assignment"] == "tiny"


def test_without_a_date_the_one_of_the_file_is_taken(course: str, tiny: Path) -> None:
    shown = succeed("publish", course, tiny).stdout

    assert "tiny is published in attention-2026 (publication 1)." in shown
    assert "Due 2036-06-01 10:00 (UTC)." in shown


def test_what_is_published_again_keeps_its_dates(course: str, tiny: Path, folder: Path) -> None:
    succeed("publish", course, tiny, "--due", DUE)
    again = told("publish", course, tiny)
    mended = make_assignment(folder / "mended" / "tiny", "description: Better.\n")
    after = told("publish", course, mended)

    assert (again["number"], again["is_new"]) == (1, False)
    assert (after["number"], after["is_new"]) == (2, True)
    assert after["due_at"] == again["due_at"]


@pytest.mark.parametrize(
    ("word", "due_at"), [("none", None), ("file", "2036-06-01T10:00:00+00:00")]
)
def test_a_date_is_taken_away_or_from_the_file(
    course: str, tiny: Path, word: str, due_at: str | None
) -> None:
    succeed("publish", course, tiny, "--due", DUE, "--skip-examples")
    told("publish", course, tiny, "--due", word, "--skip-examples")

    assert told("course", "show", course)["assignments"][0]["due_at"] == due_at


def test_an_assignment_whose_examples_fail_is_not_published(course: str, folder: Path) -> None:
    broken = make_assignment(folder / "broken", broken=True)
    result = run("publish", course, broken)

    assert result.exit_code == 1
    assert "Not published: examples of broken/1a fail." in result.stderr
    assert told("course", "show", course)["assignments"] == []
    succeed("publish", course, broken, "--skip-examples")


def test_a_date_in_the_past_is_remarked(course: str, tiny: Path) -> None:
    shown = succeed("publish", course, tiny, "--due", "2020-01-01 12:00", "--skip-examples")

    assert "The due date has passed" in shown.stdout


def test_a_shipped_assignment_is_found_by_name(course: str) -> None:
    published = told("publish", course, "--shipped", "single-head-attention", "--skip-examples")

    assert published["assignment"] == "single-head-attention"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param([], 2, "either the assignment's folder", id="nothing"),
        pytest.param(["tiny", "--shipped", "x"], 2, "or --shipped NAME", id="both"),
        pytest.param(["nowhere"], 2, "is not an assignment", id="no folder"),
        pytest.param(["--shipped", "x"], 2, "There is no shipped assignment 'x'", id="not shipped"),
        pytest.param(["tiny", "--due", "tomorrow"], 2, "is not a time", id="no time"),
        pytest.param(["tiny", "--due", "2036-13-01 12:00"], 2, "is not a time", id="no month"),
        pytest.param(["tiny", "--opens", "2040-01-01 12:00"], 2, "before it opens", id="order"),
    ],
)
@pytest.mark.usefixtures("tiny")
def test_a_wrong_call_is_explained(
    course: str, arguments: list[str], code: int, words: str
) -> None:
    result = run("publish", course, *arguments)

    assert result.exit_code == code
    assert words in result.stderr


def test_a_broken_rubric_is_told_with_its_place(course: str, folder: Path) -> None:
    path = make_assignment(folder / "bent", "pionts: 3\n")
    result = run("publish", course, path, "--json")

    assert result.exit_code == 4
    assert data_of(result)["errors"][0]["file"] == "bent/assignment.yaml"
