"""`make audit`: what it finds without a network, and that silence is not taken for an answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from grader.cli.console import make_typer
from tests.docs.pages import ROOT
from tools import audit, vendor
from tools.audit import FLOORS, LOCK_FILES, SERVER_LOCK, Pin

HASH = "--hash=sha256:" + 64 * "0"


def pin(text: str) -> Pin:
    return Pin(Requirement(text), (64 * "0",))


def metadata_of(**fields: str) -> Any:
    message = Message()
    message["Name"] = "package"
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """A folder with copies of the lock files."""
    for name in LOCK_FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_what_is_locked_installed_and_vendored_passes_without_a_network() -> None:
    results = audit.check_offline(ROOT)

    assert {each.name: each.findings for each in results} == {
        "lock files": (),
        "installed": (),
        "licences": (),
        "version floors": (),
        "vendored files": (),
    }


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        pytest.param("thing==1.0", "thing has no hash", id="no hash"),
        pytest.param(f"thing>=1.0 {HASH}", "thing is not pinned to one version", id="a range"),
        pytest.param(f"thing==1.* {HASH}", "thing is not pinned to one version", id="a wildcard"),
        pytest.param(f"thing {HASH}", "thing is not pinned to one version", id="no version"),
        pytest.param(
            f"thing @ https://example.org/thing.whl {HASH}", "names a place or an option", id="URL"
        ),
        pytest.param(
            "--extra-index-url https://example.org", "names a place or an option", id="an index"
        ),
        pytest.param("-e .", "names a place or an option", id="a folder"),
        pytest.param("--no-binary :all:", "names a place or an option", id="an option"),
        pytest.param(f"numpy==1.0 {HASH}", "numpy is locked as", id="another version"),
    ],
)
def test_a_lock_file_that_lets_anything_else_in_is_found(
    locks: Path, line: str, finding: str
) -> None:
    with (locks / "requirements-dev.lock").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")

    (lock_files, *_) = audit.check_offline(locks)

    assert len(lock_files.findings) == 1
    assert finding in lock_files.findings[0]


def test_installed_packages_are_those_that_are_locked() -> None:
    pins = [pin("one==1.0"), pin("two==2.0"), pin("three==3.0"), pin('four==4; python_version<"3"')]

    found = audit.compare_installed(pins, {"one": "1.0", "two": "2.1", "stray": "1", "pip": "1"})

    assert list(found) == [
        "two is installed as 2.1 and locked as 2.0",
        "three is locked, but not installed",
        "stray is installed, but not locked",
    ]


@pytest.mark.parametrize(
    ("fields", "licence", "is_allowed"),
    [
        pytest.param({"License_Expression": "MIT AND PSF-2.0"}, "MIT AND PSF-2.0", True, id="SPDX"),
        pytest.param({"License": "BSD 2-Clause License"}, "BSD-2-Clause", True, id="a text"),
        pytest.param(
            {"License": "see file", "Classifier": "License :: OSI Approved :: MIT License"},
            "MIT",
            True,
            id="a classifier",
        ),
        pytest.param({"License_Expression": "AGPL-3.0-only"}, "AGPL-3.0-only", False, id="AGPL"),
        pytest.param(
            {"License_Expression": "MIT AND GPL-2.0-only"}, "MIT AND GPL-2.0-only", False, id="both"
        ),
        pytest.param({}, "", False, id="none"),
    ],
)
def test_a_licence_is_read_and_allowed_by_name(
    fields: dict[str, str], licence: str, is_allowed: bool
) -> None:
    found = audit.find_licence(metadata_of(**fields))

    assert found == licence
    assert (not list(audit.find_unallowed({"package": found}))) == is_allowed


@pytest.mark.parametrize("name", FLOORS)
def test_a_version_with_a_known_fault_is_found(name: str) -> None:
    floor, faults = FLOORS[name]

    assert list(audit.find_below_floors([pin(f"{name}=={floor}")])) == []
    (found,) = audit.find_below_floors([pin(f"{name}==0.0.1")])
    assert faults in found


def test_every_package_with_a_floor_is_one_that_a_server_runs() -> None:
    assert {each.name for each in audit.list_pins(ROOT, [SERVER_LOCK])} >= FLOORS.keys()


def test_a_vendored_file_that_was_changed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "vendor"
    shutil.copytree(vendor.TARGET, changed)
    monkeypatch.setattr(vendor, "TARGET", changed)
    assert list(audit.compare_vendored()) == []

    (changed / "htmx" / "htmx.js").write_text("//")
    (changed / "katex" / "LICENSE").unlink()

    assert sorted(audit.compare_vendored()) == [
        "htmx/htmx.js is not what was fetched",
        "katex has no licence file",
        "katex/LICENSE is not what was fetched",
    ]


def test_an_index_without_advisories_does_not_pass_for_one_that_knows_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = subprocess.CompletedProcess([], 0, '{"dependencies": [{"name": "x", "vulns": []}]}')
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: silent)

    with pytest.raises(audit.Unreachable, match="no advisories here"):
        audit.find_advisories([pin("one==1.0")])


def test_an_advisory_and_a_package_without_an_answer_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
    told = [
        {"name": "one", "version": "1.0", "vulns": [fault]},
        {"name": "two", "skip_reason": "two was not found"},
    ]
    answer = subprocess.CompletedProcess([], 1, json.dumps({"dependencies": told}))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)

    assert audit.find_advisories([pin("one==1.0")]) == [
        "two was not found",
        "one 1.0: PYSEC-1, fixed in 2.0",
    ]


def test_pip_audit_is_asked_about_every_version_and_never_about_two_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def answer(command: list[str], **_: object) -> object:
        asked.append(Path(command[4]).read_text().splitlines())
        told = [{"name": "one", "version": "1", "vulns": [{"id": "X", "fix_versions": []}]}]
        return subprocess.CompletedProcess([], 1, json.dumps({"dependencies": told}))

    monkeypatch.setattr(subprocess, "run", answer)

    audit.find_advisories([pin("one==1.0"), pin("two==2.0"), pin("one==1.1"), pin("two==2.0")])

    assert asked[1:] == [["one==1.0", "two==2.0"], ["one==1.1"]]


@pytest.mark.parametrize(
    ("options", "exit_code"),
    [
        pytest.param([], 1, id="by default it fails"),
        pytest.param(["--offline"], 0, id="unless it is told so"),
    ],
)
def test_what_could_not_be_checked_is_told(
    monkeypatch: pytest.MonkeyPatch, options: list[str], exit_code: int
) -> None:
    def fail(_: object) -> list[str]:
        raise audit.Unreachable("there is no network")

    for name in ("find_yanked", "find_advisories", "find_script_advisories"):
        monkeypatch.setattr(audit, name, fail)
    app = make_typer()
    app.command()(audit.run_audit)

    ended = CliRunner().invoke(app, options)

    assert ended.exit_code == exit_code
    assert ended.output.count("not checked: ") == 3


def test_the_list_of_components_has_what_a_server_runs_and_what_pages_load() -> None:
    pins = audit.list_pins(ROOT, [SERVER_LOCK])

    listed = json.loads(audit.render_sbom(pins))

    assert listed["bomFormat"] == "CycloneDX"
    assert {each["name"] for each in listed["components"]} == {
        *(each.name for each in pins),
        *vendor.PACKAGES,
    }
    (fastapi,) = (each for each in listed["components"] if each["name"] == "fastapi")
    assert fastapi["licenses"] == [{"expression": "MIT"}]
    assert len(fastapi["properties"]) == 2


@pytest.mark.parametrize(
    "code",
    [
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.load(text, Loader=yaml.FullLoader)",
        "yaml.full_load(text)",
        "yaml.unsafe_load(text)",
    ],
)
def test_the_linter_refuses_yaml_that_makes_objects(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "grader/new.py", "-"],
        input=f'"""A module."""\n\nimport yaml\n\ntext = ""\n{code}\n',
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "S506" in done.stdout or "TID251" in done.stdout
