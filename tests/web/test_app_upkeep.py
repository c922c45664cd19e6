"""What the service does beside answering: it notes the use of tokens and forgets old keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import func, select

from grader.grading.idempotency import delete_expired_keys
from grader.store.database import Database
from grader.store.tables.credentials import IdempotencyKeyRow
from tests.support.world import EXPLORATION, World, make_service, question_path

ATTEMPTS = question_path(f"{EXPLORATION}/3b") + "/attempts"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def used_at(world: World) -> str | None:
    # The note is written after the answer; what is asked for next comes behind it.
    world.service.writer.run_now(lambda session: None)
    (token,) = world.read("/api/v1/tokens", "ada")
    found: str | None = token["used_at"]
    return found


def test_a_token_tells_when_it_was_last_used_to_the_hour(world: World) -> None:
    world.read("/api/v1/me", "ada")
    first = used_at(world)
    world.clock.turn(minutes=30)
    assert used_at(world) == first
    world.clock.turn(minutes=40)
    world.read("/api/v1/me", "ada")

    assert first is not None
    assert used_at(world) != first


def count_keys(world: World) -> int:
    with world.database.read() as session:
        return session.scalar(select(func.count()).select_from(IdempotencyKeyRow)) or 0


def test_a_key_is_kept_for_two_days_and_then_forgotten(world: World) -> None:
    key = {"Idempotency-Key": "try-1"}
    first = world.post(ATTEMPTS, "ada", {"answer": {"q": "k_a"}}, headers=key)
    world.clock.turn(hours=47)
    world.service.writer.run_now(lambda session: delete_expired_keys(session, at=world.clock()))
    assert world.post(ATTEMPTS, "ada", {"answer": {"q": "k_a"}}, headers=key).content == (
        first.content
    )
    world.clock.turn(hours=2)

    world.service.writer.run_now(lambda session: delete_expired_keys(session, at=world.clock()))

    assert count_keys(world) == 0
