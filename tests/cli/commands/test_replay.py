from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader.grading.receipts.bundle import MAX_BYTES, Bundle, write_bundle
from grader.grading.signing import SigningKey
from tests.support.bundles import KEY, NOISY, PREDICTIONS, STRETCHED, bundle_of
from tests.support.command_line import data_of, run

MODEL = {"q": "40 (mu_a + mu_b)"}


def kept(folder: Path, bundle: Bundle, **changes: Any) -> Path:
    """A bundle in a file, with some of its keys changed."""
    path = folder / "bundle.json"
    path.write_text(json.dumps({**json.loads(write_bundle(bundle)), **changes}))
    return path


def test_the_command_explains_itself_by_examples() -> None:
    result = run("replay", "--help")

    assert "grader replay bundle.json" in result.stdout.split("Examples")[1]
    assert "1: a result differs" in result.stdout


def test_a_grade_that_follows_from_its_receipt_is_confirmed(tmp_path: Path) -> None:
    result = run("replay", kept(tmp_path, bundle_of(NOISY, MODEL)), "--key", KEY.public)

    assert result.exit_code == 0
    assert "The grade is confirmed" in result.stdout
    assert "come out: 8 of 10." in result.stdout
    assert "received 2026-03-01 12:30:15 UTC" in result.stdout
    assert "✗" not in result.stdout
    assert "?" not in result.stdout


def test_before_publication_the_command_says_until_when(tmp_path: Path) -> None:
    bundle = bundle_of(STRETCHED, PREDICTIONS, uses=MODEL, is_published=False)
    result = run("replay", kept(tmp_path, bundle))

    assert result.exit_code == 0
    assert "2026-03-20 22:59 UTC" in result.stdout
    assert "Everything that can be checked so far agrees." in result.stdout


def test_what_differs_is_named_and_ends_with_one(tmp_path: Path) -> None:
    path = kept(tmp_path, bundle_of(NOISY, MODEL), answer={"q": "41 (mu_a + mu_b)"})
    result = run("replay", path)

    assert result.exit_code == 1
    assert "✗  answer" in result.stdout
    assert "These checks differ: answer." in result.stdout


def test_another_key_than_the_services_differs(tmp_path: Path) -> None:
    path = kept(tmp_path, bundle_of(NOISY, MODEL, is_published=False))
    result = run("replay", path, "--key", SigningKey.generate().public)

    assert result.exit_code == 1
    assert "These checks differ: signer." in result.stdout


def test_json_has_every_check(tmp_path: Path) -> None:
    path = kept(tmp_path, bundle_of(NOISY, MODEL))
    data = data_of(run("replay", path, "--json"))

    assert (data["attempt"], data["question"]) == ("att_1", NOISY)
    assert (data["agrees"], data["judged_again"]) == (True, True)
    states = {check["name"]: check["state"] for check in data["checks"]}
    assert states["judged again"] == "agrees"
    assert states["signer"] == "open"


def test_a_bundle_comes_from_standard_input() -> None:
    result = run("replay", "-", sent=write_bundle(bundle_of(NOISY, MODEL)))

    assert result.exit_code == 0


@pytest.mark.parametrize("uses", [{"q": "99 (mu_a + mu_b)"}, None])
def test_a_grade_given_offline_can_be_replayed(tmp_path: Path, uses: Any) -> None:
    bundle, earlier = tmp_path / "bundle.json", tmp_path / "earlier.json"
    earlier.write_text(json.dumps(uses))
    options = ["--uses", earlier] if uses else []
    run("grade", STRETCHED, "--answer", json.dumps(PREDICTIONS), "--bundle", bundle, *options)
    result = run("replay", bundle)

    assert result.exit_code == 0
    assert "not stored" in result.stdout
    assert "The grade is confirmed" in result.stdout


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "not valid JSON", id="empty"),
        pytest.param(b"\x00\xff", "not valid JSON", id="no text"),
        pytest.param(b"{}", "format is missing", id="something else"),
        pytest.param(b" " * (MAX_BYTES + 1), "larger than 8 MiB", id="too large"),
    ],
)
def test_what_is_no_bundle_ends_with_two_and_a_sentence(raw: bytes, said: str) -> None:
    result = run("replay", "-", sent=raw)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_wrong_call_ends_with_two(tmp_path: Path) -> None:
    path = kept(tmp_path, bundle_of(NOISY, MODEL))

    assert "cannot be read" in run("replay", tmp_path / "absent.json").stderr
    assert run("replay", tmp_path / "absent.json").exit_code == 2
    assert run("replay", tmp_path).exit_code == 2
    assert run("replay", path, "--key", "no key").exit_code == 2
    assert "is not a public key" in run("replay", path, "--key", "no key").stderr
    assert data_of(run("replay", path, "--key", "no key", "--json"))["code"] == "operator.error"


def test_a_hostile_text_cannot_move_the_terminal(tmp_path: Path) -> None:
    bundle = bundle_of(NOISY, MODEL)
    receipt = json.loads(write_bundle(bundle))["receipt"]
    result = run(
        "replay", kept(tmp_path, bundle, receipt={**receipt, "variant": "\x1b[2J[red]x[/]"})
    )

    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "?[2J[red]x[/]" in result.stdout
