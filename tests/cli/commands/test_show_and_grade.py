from __future__ import annotations

import codecs
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from grader.cli.main import COMMANDS, load_command
from tests.support.command_line import NOISY, STRETCHED, UNDERSTANDING, data_of, grade_inline, run
from tests.support.rubrics import shipped

QUESTIONS = [rubric.id for rubric in shipped().rubrics()]


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_by_examples(command: str) -> None:
    result = run(command, "--help")

    assert result.exit_code == 0
    assert f"grader {command}" in result.stdout.split("Examples")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_says_of_a_command_what_it_says_of_itself(command: str) -> None:
    said = load_command(command).help

    assert " ".join(said.partition("\n\n")[0].split()) == COMMANDS[command]


@pytest.mark.parametrize("called", ["--help", "--version"])
def test_help_waits_for_no_library_that_it_does_not_need(called: str) -> None:
    code = (
        "import atexit, sys; from grader.cli.main import app\n"
        "atexit.register(lambda: print({'numpy', 'sqlalchemy', 'fastapi'} & sys.modules.keys()))\n"
        f"app(['{called}'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "set()"


def test_the_version_is_told() -> None:
    assert run("--version").stdout.startswith("keyset 0.")


# Show


def test_show_lists_all_assignments() -> None:
    result = run("show")

    assert result.exit_code == 0
    assert all(name in result.stdout for name in shipped().assignments)


def test_show_lists_the_questions_of_an_assignment() -> None:
    result = run("show", "single-head-attention")

    assert "single-head-attention/1f" in result.stdout
    assert "3 from 30, 4 from 50, 5 from 70, 2 below" in result.stdout
    data = data_of(run("show", "single-head-attention", "--json"))
    assert data["points"] == 80
    assert data["due_at"] == "2022-06-30T23:59:59+02:00"


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_shown_without_tex_and_within_the_terminal(question: str) -> None:
    lines = run("show", question).stdout.splitlines()

    assert not [line for line in lines if "$" in line or "\\" in line]
    commands = ("    grader grade", "    {")
    assert not [line for line in lines if len(line) > 80 and not line.startswith(commands)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_example_of_an_answer_can_be_read_and_is_not_the_solution(question: str) -> None:
    example = data_of(run("show", question, "--json"))["example"]

    report = data_of(grade_inline(question, example, "--json"))

    assert report["score"] < report["max_automatic"] or report["max_automatic"] == 0


def test_numbers_made_from_the_given_arrays_earn_all_points() -> None:
    given = data_of(run("show", NOISY, "--student", "grace", "--json"))["given"]
    mu = np.asarray(given["mu"])
    query = 40 * (mu[given["a"]] + mu[given["b"]])

    graded = grade_inline(NOISY, {"q": query.tolist()}, "--student", "grace", "--json")

    assert data_of(graded)["score"] == 8


def test_every_student_has_other_numbers() -> None:
    ada, grace = (
        data_of(run("show", NOISY, "--student", name, "--json"))["given"]
        for name in ("ada", "grace")
    )
    assert ada["mu"] != grace["mu"]
    assert ada["n"] == grace["n"]


def test_hidden_indices_are_not_shown() -> None:
    assert "other" not in run("show", NOISY).stdout.split("Given")[1]


# Grade


def test_a_judged_answer_has_the_promised_keys() -> None:
    result = grade_inline(NOISY, {"q": "40 (mu_a + mu_b)"}, "--json")
    report = data_of(result)

    assert result.exit_code == 0
    assert set(report) >= {
        "id", "number", "score", "max_score", "max_automatic", "pending", "criteria", "feedback",
        "misconceptions", "receipt", "attempts_left",
    }  # fmt: skip
    assert [report[key] for key in ("score", "max_score", "max_automatic", "pending")] == [
        8, 10, 8, 2,
    ]  # fmt: skip
    assert set(report["criteria"][0]) >= {"points", "measured", "needed", "interval"}
    assert [line["criterion"] for line in report["feedback"]] == [
        each["id"] for each in report["criteria"]
    ]


def test_a_wrong_answer_is_no_error_and_its_misconception_is_told() -> None:
    result = grade_inline(NOISY, {"q": "mu_a + mu_b"})

    assert result.exit_code == 0
    assert "The direction is right" in result.stdout
    assert "0 of 8 points. 2 points to be graded by a person." in result.stdout
    assert "Median weights" in result.stdout


def test_grade_says_how_an_answer_was_read_where_that_may_surprise() -> None:
    """Issue 10, item 16."""
    read = run("grade", "attention-exploration/3b", "--answer", '{"q": "40 k_a. It is large."}')

    assert "q: Read up to the full stop; put explanations into the field for them." in read.stdout


def test_a_part_that_people_read_claims_no_automatic_points() -> None:
    assert (
        "\n5 points to be graded by a person."
        in grade_inline("single-head-attention/1a", {}).stdout
    )


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"q": "40 (mu_a + mu_b)"}', id="plain"),
        pytest.param(b'{"answer": {"q": "40 (mu_a + mu_b)"}}', id="the body of a request"),
        pytest.param(codecs.BOM_UTF8 + b'{"q": "40 (mu_a + mu_b)"}', id="byte order mark"),
        pytest.param('{"q": "40 (μ_a + μ_b)"}'.encode("utf-16"), id="UTF-16"),
        pytest.param(rb'{"q": "40 (\\mu_a + \\mu_b)"}', id="LaTeX"),
    ],
)
def test_an_answer_may_come_in_several_wrappings(raw: bytes) -> None:
    assert data_of(run("grade", NOISY, "-", "--json", sent=raw))["score"] == 8


def test_a_part_that_builds_on_another_says_what_it_was_tried_with(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text('{"q": "99 (mu_a + mu_b)"}')
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"q": "mu_a"}')

    own = grade_inline(STRETCHED, UNDERSTANDING, "--uses", earlier)
    replaced = grade_inline(STRETCHED, UNDERSTANDING, "--uses", wrong)
    absent = grade_inline(STRETCHED, UNDERSTANDING)

    assert "your own answer" in own.stdout
    assert "yours does not earn the points" in " ".join(replaced.stdout.split())
    assert "--uses FILE gives your own" in " ".join(absent.stdout.split())


def test_an_unreadable_earlier_answer_is_told_apart_from_the_answer(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text('{"q": [1, 2]}')

    result = grade_inline(STRETCHED, UNDERSTANDING, "--uses", earlier, "--json")

    assert result.exit_code == 3
    assert data_of(result)["errors"][0]["pointer"] == "#/uses/q"


def test_pictures_are_written_as_svg(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"

    result = grade_inline(NOISY, {"q": "40 mu_a"}, "--plot", path)

    assert result.exit_code == 0
    assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")


# Real processes


def start(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "grader", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def test_the_package_can_be_run_as_a_module() -> None:
    process = start("grade", NOISY, "--answer", '{"q": "mu_z"}')

    _, told = process.communicate(timeout=60)

    assert process.returncode == 3
    assert told.startswith("The answer cannot be read")


def test_a_terminal_without_greek_gets_question_marks() -> None:
    process = start("show", NOISY, env={**os.environ, "PYTHONIOENCODING": "ascii"})

    shown, told = process.communicate(timeout=60)

    assert (process.returncode, told) == (0, "")
    assert "A query for noisy keys" in shown


def test_a_reader_that_goes_away_is_no_error_to_speak_of() -> None:
    with start("show", NOISY) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
