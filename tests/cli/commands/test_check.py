from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.command_line import data_of, run


@pytest.fixture
def rubrics(tmp_path: Path) -> Path:
    """A folder with one assignment of one question, to be broken."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    source = Path(__file__).parents[3] / "rubrics" / "single-head-attention" / "1c.yaml"
    (folder / "1c.yaml").write_text(source.read_text())
    (folder / "assignment.yaml").write_text("id: tiny\ntitle: Tiny\nquestions: [1c]\n")
    return tmp_path


def change(rubrics: Path, old: str, new: str) -> Path:
    path = rubrics / "tiny" / "1c.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("\npoints:", "\npionts:", "did you mean 'points'?", id="unknown key"),
        pytest.param("\npoints:", "\nbad: [1, 2\npoints:", "1c.yaml:", id="bad YAML"),
        pytest.param("softmax(", "softmx(", "Did you mean softmax?", id="wrong formula"),
        pytest.param("\npoints: 10", "\npoints: 11", "not 11", id="wrong points"),
        pytest.param(
            "\ngiven:",
            '\nuses: {question: 1x, if: weights, else: {q: "k_i"}}\ngiven:',
            "uses.question",
            id="unknown question in uses",
        ),
    ],
)
def test_a_broken_rubric_is_told_with_its_place(
    rubrics: Path, old: str, new: str, words: str
) -> None:
    change(rubrics, old, new)

    for call in (["check", rubrics], ["grade", "tiny/1c", "-", "--rubrics", rubrics]):
        result = run(*call)
        assert result.exit_code == 4
        assert words in result.stderr
        assert result.stderr.startswith("tiny/1c.yaml:")
    problem = data_of(run("check", rubrics, "--json"))
    assert problem["code"] == "rubric.invalid"
    assert set(problem["errors"][0]) == {"file", "line", "column", "field", "detail"}


def test_a_sound_rubric_passes_by_folder_assignment_and_file(rubrics: Path) -> None:
    folder = rubrics / "tiny"
    for path in (rubrics, folder, folder / "assignment.yaml", folder / "1c.yaml"):
        result = run("check", path, "--variants", 1)
        assert result.exit_code == 0
        assert "The question is sound." in result.stdout


def with_examples(rubrics: Path, *examples: str) -> Path:
    path = rubrics / "tiny" / "1c.yaml"
    kept, _, _ = path.read_text().partition("\nexamples:\n")
    path.write_text("\n".join([kept, "examples:", *(f"  - {each}" for each in examples), ""]))
    return path


def test_an_example_that_fails_is_told_with_its_place(rubrics: Path) -> None:
    path = with_examples(rubrics, '{name: slip, answer: {q: "40 (k_i + k_j)"}, earns: 1}')

    result = run("check", path, "--variants", 2, "--mutate")

    assert result.exit_code == 1
    assert ": slip: earns 8, not 1 (on every variant)" in result.stdout
    assert "The question is not sound." in result.stdout
    (data,) = data_of(run("check", path, "--variants", 2, "--json"))
    assert not data["sound"]
    assert [failure["example"] for failure in data["failures"]] == ["slip", "slip"]


def test_changes_that_no_example_notices_are_listed(rubrics: Path) -> None:
    path = with_examples(rubrics, '{name: model, answer: {q: "40 (k_i + k_j)"}, earns: 8}')

    result = run("check", path, "--variants", 1, "--mutate")

    assert run("check", path, "--variants", 1).exit_code == 0
    assert result.exit_code == 1
    assert "no example notices this change: weights: level 1, within" in result.stdout


def test_item_17_attacks_are_listed_and_what_is_declared_right_is_not(rubrics: Path) -> None:
    """Issue 10, item 17."""
    path = rubrics / "tiny" / "1c.yaml"
    text = path.read_text()
    start = text.index("also_right:")
    path.write_text(text[:start] + text[text.index("\n", start) + 1 :])
    result = run("check", path, "--variants", 3, "--attack")

    assert result.exit_code == 1
    told = "tiny/1c: double: earns full marks (on 3 of 3 variants; if it is right, add it to "
    assert told in " ".join(result.stdout.split())
    (data,) = data_of(run("check", path, "--variants", 3, "--attack", "--json"))
    attacks = {each["name"]: each for each in data["attacks"]}
    assert attacks["zero"]["problems"] == []
    assert attacks["double"]["full"] == 3
    assert attacks["double"]["problems"] == ["earns full marks"]


def test_work_is_shared_by_processes_without_changing_the_outcome(rubrics: Path) -> None:
    alone, shared = (
        run("check", rubrics, "--variants", 1, "--mutate", "--workers", workers, "--json").stdout
        for workers in (1, 2)
    )
    assert alone == shared
    assert json.loads(alone)[0]["mutants"] > 0


@pytest.mark.parametrize("option", [[], ["--assignment"]])
def test_the_schema_is_valid_and_takes_every_shipped_file(option: list[str]) -> None:
    schema = data_of(run("schema", *option))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    files = (Path(__file__).parents[3] / "rubrics").glob("*/*.yaml")
    wanted = [path for path in files if (path.stem == "assignment") == bool(option)]

    assert wanted
    for path in wanted:
        assert not list(validator.iter_errors(yaml.safe_load(path.read_text()))), path
    assert list(validator.iter_errors({"id": "x", "nope": 1}))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "kill"]
)
def test_a_check_that_is_stopped_leaves_nothing_behind(number: signal.Signals, code: int) -> None:
    with heeding_interrupts():
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", "check", "--variants", "2000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    with process, killing_at_the_end(process.pid):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for _ in range(600):
            if len(children.read_text().split()) == 2:
                break
            time.sleep(0.1)
        # As a terminal does for Ctrl-C; a plain kill reaches the first process only.
        (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)

        _, told = process.communicate(timeout=60)

        assert process.returncode == code
        assert "Traceback" not in told
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


@contextmanager
def killing_at_the_end(group: int) -> Iterator[None]:
    """Kill what is left of a group of processes, which would use every core for hours."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Start processes that a Ctrl-C reaches, even if these tests run in the background of a script.

    A shell lets such processes ignore it, and so does then whatever they start.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
