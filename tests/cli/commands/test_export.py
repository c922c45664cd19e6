from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.service_commands import succeed

ASSIGNMENT = "single-head-attention"


@pytest.fixture
def published(course: str) -> str:
    """A course run with an assignment and somebody whose name could be a formula."""
    text = 'login,name\neve,"=HYPERLINK(""http://x"")"\n'
    succeed("course", "roster", course, "-", "--yes", sent=text)
    succeed("publish", course, "--shipped", ASSIGNMENT, "--skip-examples")
    return course


def test_grades_are_a_sheet_of_students_by_questions(published: str) -> None:
    sheet = list(csv.DictReader(io.StringIO(succeed("export", published, ASSIGNMENT).stdout)))

    assert [each["login"] for each in sheet] == ["ada", "eve"]
    assert (sheet[0]["1a"], sheet[0]["total"], sheet[0]["possible"]) == ("", "0", "80")
    assert sheet[1]["name"].startswith("'=")


def test_grades_are_data_for_programs(published: str, folder: Path) -> None:
    whole = json.loads(succeed("export", published, ASSIGNMENT, "--format", "json").stdout)
    succeed("export", published, ASSIGNMENT, "--format", "jsonl", "--output", "grades.jsonl")
    lines = (folder / "grades.jsonl").read_text("utf-8").splitlines()

    assert [json.loads(line) for line in lines] == whole
    assert whole[1]["name"] == '=HYPERLINK("http://x")'
    assert set(whole[0]["questions"].values()) == {None}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["none", ASSIGNMENT], "There is no course run", id="no run"),
        pytest.param(["attention-2026", "none"], "There are single-head-attention.", id="none"),
        pytest.param(
            ["attention-2026", ASSIGNMENT, "--output", "no/where"], "cannot be written", id="place"
        ),
        pytest.param(["attention-2026", ASSIGNMENT, "--format", "xls"], "Invalid", id="format"),
    ],
)
@pytest.mark.usefixtures("published")
def test_a_wrong_call_is_explained(arguments: list[str], words: str) -> None:
    result = run("export", *arguments)

    assert result.exit_code == 2
    assert words in result.stderr
