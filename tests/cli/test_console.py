from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.cli.commands import grade
from grader.cli.main import app
from tests.support.command_line import NOISY, STRETCHED, data_of, grade_inline, run

# Unreadable answers

SIXTEEN = "2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"
UNREADABLE = [
    pytest.param('{"q": [1, [2, 3]]}', "/q", id="ragged list"),
    pytest.param('{"q": [1, 2, 3]}', "/q", id="too short"),
    pytest.param(f'{{"q": [[1,{SIXTEEN}], [1,{SIXTEEN}]]}}', "/q", id="two rows for a column"),
    pytest.param('{"q": "mu_a^T"}', "/q", id="a transposed formula"),
    pytest.param(f'{{"q": [true,{SIXTEEN}]}}', "/q/0", id="a truth value"),
    pytest.param(f'{{"q": ["1",{SIXTEEN}]}}', "/q/0", id="text among numbers"),
    pytest.param(f'{{"q": [NaN,{SIXTEEN}]}}', "/q/0", id="NaN"),
    pytest.param(f'{{"q": [-Infinity,{SIXTEEN}]}}', "/q/0", id="infinity"),
    pytest.param(f'{{"q": [1e309,{SIXTEEN}]}}', "/q/0", id="1e309"),
    pytest.param(f'{{"q": [9007199254740993,{SIXTEEN}]}}', "/q/0", id="beyond 2^53"),
    pytest.param(f'{{"q": [{"9" * 5000},{SIXTEEN}]}}', "/q/0", id="thousands of digits"),
    pytest.param('{"q": []}', "/q", id="empty array"),
    pytest.param('{"q": {}}', "/q", id="an object"),
    pytest.param("{}", "/q", id="missing field"),
    pytest.param('{"q": null}', "/q", id="null"),
    pytest.param('{"q": "40 mu_a", "Q": 1}', "/Q", id="unknown field"),
    pytest.param('{"q": "40 mu_z"}', "/q", id="unknown symbol"),
    pytest.param('{"q": "__import__(1)"}', "/q", id="code"),
    pytest.param('{"q": "' + "(" * 10_000 + '"}', "/q", id="ten thousand brackets"),
    pytest.param('{"q": ' + "[" * 500 + "]" * 500 + "}", "/q", id="deep lists"),
    pytest.param('{"q": "[/red]"}', "/q", id="markup"),
    pytest.param('{"q": "\\u0000\\u202e"}', "/q", id="invisible characters"),
    pytest.param('{"q": ', "", id="half an object"),
    pytest.param('{"q": 1,}', "", id="trailing comma"),
    pytest.param('{"q": 1, "q": 2}', "", id="a key twice"),
    pytest.param('{"q": "\\ud800"}', "", id="half a surrogate pair"),
    pytest.param(r'{"q": "\mu_a"}', "", id="a single backslash"),
    pytest.param("[" * 100_000, "", id="too deep"),
    pytest.param("[1, 2]", "", id="a list"),
    pytest.param("null", "", id="nothing but null"),
    pytest.param("", "", id="empty"),
    pytest.param(bytes(range(128, 256)), "", id="no UTF-8"),
    pytest.param(b"\x00" * 64, "", id="zero bytes"),
]


@pytest.mark.parametrize(("sent", "pointer"), UNREADABLE)
def test_an_unreadable_answer_is_refused_at_its_place(sent: str | bytes, pointer: str) -> None:
    told = run("grade", NOISY, "-", sent=sent)
    result = run("grade", NOISY, "-", "--json", sent=sent)
    problem = data_of(result)

    assert (told.exit_code, result.exit_code) == (3, 3)
    assert told.stderr.startswith("The answer cannot be read; nothing was graded")
    assert problem["attempt_used"] is False
    assert problem["code"] == problem["errors"][0]["code"]
    assert problem["detail"]
    assert f"#/answer{pointer}" in [each["pointer"] for each in problem["errors"]]
    assert set(problem["errors"][0]) >= {"pointer", "code", "expected", "got", "detail", "hint"}


def test_a_formula_is_shown_with_a_mark_under_its_fault() -> None:
    result = grade_inline(NOISY, {"q": "40 (mu_a + mu_z)"})

    assert "      40 (mu_a + mu_z)\n                 ^\n" in result.stderr


@pytest.mark.parametrize("command", ["frac12 mu_a", "beta mu_a", "top mu_a", "nu mu_a"])
def test_a_backslash_that_json_has_eaten_is_explained(command: str) -> None:
    result = run("grade", NOISY, "--answer", rf'{{"q": "2 \{command}"}}')

    assert result.exit_code == 3
    assert "In JSON a backslash is written twice" in result.stderr


def test_a_file_of_fifty_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)

    result = run("grade", NOISY, path)

    assert result.exit_code == 3
    assert "larger than 4 MiB" in result.stderr


def test_numbers_that_would_overflow_are_judged() -> None:
    result = grade_inline(NOISY, {"q": [1e308, *range(15)]}, "--json")

    assert result.exit_code == 0
    assert data_of(result)["score"] == 0


# Wrong calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["grade", NOISY, "nowhere.json"], "No such file", id="missing file"),
        pytest.param(["grade", NOISY, "/"], "Is a directory", id="a folder"),
        pytest.param(["grade", NOISY], "Name a file", id="no answer"),
        pytest.param(["grade", NOISY, "x", "--answer", "{}"], "not both", id="two answers"),
        pytest.param(["grade", "1e", "x"], "mean single-head-attention/1e?", id="half a name"),
        pytest.param(["grade", "nope/1e", "x"], "no question 'nope/1e'", id="no assignment"),
        pytest.param(["show", "single-head-attention/9z"], "it has 1a, 1b", id="no question"),
        pytest.param(
            ["grade", "single-head-attention", "x"], "is an assignment", id="an assignment"
        ),
        pytest.param(
            ["grade", NOISY, "--answer", "{}", "--uses", "x"], "no earlier part", id="useless uses"
        ),
        pytest.param(["grade", STRETCHED, "-", "--uses", "-"], "Only one", id="one input for two"),
        pytest.param(
            ["grade", NOISY, "--answer", '{"q": "mu_a"}', "--plot", "/nowhere/x.svg"],
            "cannot be written",
            id="no folder for the picture",
        ),
        pytest.param(["grade", NOISY, "-", "--plot", "x.png"], "SVG", id="no SVG"),
        pytest.param(
            ["grade", "single-head-attention/1a", "-", "--plot", "x.svg"], "no pictures", id="none"
        ),
        pytest.param(["grade", NOISY, "-", "--student", "a/b"], "without slashes", id="a slash"),
        pytest.param(["show", "--rubrics", "/nowhere"], "no folder /nowhere", id="no rubrics"),
        pytest.param(["check", "/nowhere"], "no file or folder", id="nothing to check"),
        pytest.param(["check", "--variants", "0"], "Invalid value", id="no variants"),
        pytest.param(["check", sys.executable], "is not a rubric", id="no rubric"),
        pytest.param(["nope"], "No such command", id="no command"),
    ],
)
def test_a_wrong_call_is_explained(arguments: list[str], words: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert words in result.stderr


def test_a_wrong_call_is_data_where_data_is_wanted() -> None:
    result = run("grade", "nope/1e", "x", "--json")

    assert result.exit_code == 2
    assert data_of(result)["code"] == "operator.error"


def test_a_defect_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("so it goes")

    monkeypatch.setattr(grade, "build_report", fail)
    call = ["grade", NOISY, "--answer", '{"q": "mu_a"}']

    assert run(*call).exit_code == 70
    assert "Keyset itself failed: ZeroDivisionError: so it goes" in run(*call).stderr
    shown = CliRunner().invoke(app, ["--traceback", *call])
    assert isinstance(shown.exception, ZeroDivisionError)
