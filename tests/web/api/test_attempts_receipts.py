"""Receipts and bundles through the API: signed, complete, and replayed without the service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.feedback.receipt import Receipt, hash_answer
from grader.grading.receipts.bundle import read_bundle
from grader.grading.receipts.replay import replay_bundle
from grader.grading.signing import verify_signature
from grader.store.database import Database
from tests.support.world import EXPLORATION, World, make_service

BELIEF = {"share_near_average": 0.01, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def public_key(world: World) -> str:
    (key,) = world.read("/api/v1/keys")
    found: str = key["public"]
    return found


def bundle_of(world: World, attempt: dict[str, Any], who: str = "ada") -> bytes:
    response = world.get(f"/api/v1/attempts/{attempt['id']}/bundle", who)
    assert response.status_code == 200, response.text
    assert response.headers["Content-Disposition"].startswith("attachment")
    return response.content


def test_a_receipt_is_signed_and_says_what_when_and_by_which_rubric(world: World) -> None:
    answer = {"q": "40 (k_a + k_b)"}
    made = world.submit("ada", f"{EXPLORATION}/3b", answer)

    receipt = Receipt.model_validate(made["receipt"])

    assert verify_signature(receipt, public_key(world))
    assert receipt.attempt == made["id"]
    assert receipt.course == "one"
    assert receipt.received_at == world.clock()
    assert receipt.answer == hash_answer(answer)
    assert receipt.rubric.startswith("sha256:")
    assert not verify_signature(receipt.model_copy(update={"score": 10}), public_key(world))


@pytest.mark.parametrize(
    ("question", "answer", "earlier"),
    [
        pytest.param("3c-i", {"q": "mu_a + mu_b"}, None, id="sampled and wrong"),
        pytest.param("3c-i", {"q": "C (mu_a + mu_b) where C >> 0"}, None, id="a ladder"),
        pytest.param("3c-ii", BELIEF, {"q": "1000 (mu_a + mu_b)"}, id="with the own answer"),
        pytest.param("3c-ii", BELIEF, {"q": "mu_a"}, id="with the reference"),
        pytest.param("3e-i", None, None, id="exact"),
    ],
)
def test_after_everybodys_last_moment_the_bundle_is_replayed_and_agrees(
    world: World, question: str, answer: Any, earlier: Any
) -> None:
    if earlier is not None:
        world.submit("ada", f"{EXPLORATION}/3c-i", earlier)
    if answer is None:
        shown = world.read(
            f"/api/v1/courses/one/assignments/{EXPLORATION}/questions/{question}", "ada"
        )
        answer = shown["example"]
    made = world.submit("ada", f"{EXPLORATION}/{question}", answer)
    early = read_bundle(bundle_of(world, made))
    world.clock.turn(days=8)

    bundle = read_bundle(bundle_of(world, made))
    again = replay_bundle(bundle, key=public_key(world))

    assert early.published is None
    assert early.publishes_at is not None
    assert bundle.published is not None
    assert again.was_judged
    assert again.agrees, again.checks


def test_an_extension_keeps_keys_and_rubrics_back_for_everybody(world: World) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions"
    later = {"student": "bob", "due_at": "2026-12-01T12:00:00Z", "reason": "Ill."}
    assert world.post(path, "irene", later).status_code == 201
    world.clock.turn(days=9)
    assert read_bundle(bundle_of(world, made)).published is None

    world.clock.turn(days=10)

    assert read_bundle(bundle_of(world, made)).published is not None


def test_an_extension_after_publication_says_that_the_keys_are_known(world: World) -> None:
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions"
    body = {"student": "bob", "due_at": "2026-12-24T12:00:00Z", "reason": "Ill."}
    early = world.post(path, "irene", {**body, "due_at": "2026-11-24T12:00:00Z"})
    world.clock.turn(days=20)
    late = world.post(path, "irene", body)

    assert early.json()["is_after_publication"] is False
    assert late.json()["is_after_publication"] is True


def test_the_command_replays_what_was_downloaded(world: World, tmp_path: Path) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": "40 (k_a + k_b)"})
    world.clock.turn(days=8)
    file = tmp_path / "bundle.json"
    file.write_bytes(bundle_of(world, made))
    command = [sys.executable, "-m", "grader", "replay", str(file), "--key", public_key(world)]

    good = subprocess.run(command, capture_output=True, text=True, check=False)
    file.write_bytes(file.read_bytes().replace(b"40 (k_a", b"50 (k_a"))
    bad = subprocess.run(command, capture_output=True, text=True, check=False)

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode == 1, bad.stdout + bad.stderr


def test_everybody_may_know_the_public_keys(world: World) -> None:
    assert world.get("/api/v1/keys").status_code == 200
