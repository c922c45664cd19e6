"""What stored responses cost: equal ones are stored once, and a caller's keys have a cap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import func, select

from grader.grading import idempotency
from grader.grading.idempotency import KEY_LIFETIME, delete_expired_keys
from grader.store.database import Database
from grader.store.tables.credentials import IdempotencyKeyRow, IdempotentResponseRow
from tests.support.world import EXPLORATION, World, make_service, question_path

ATTEMPTS = question_path(f"{EXPLORATION}/3b") + "/attempts"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def send(world: World, key: str, query: str = "k_a", who: str = "ada") -> Response:
    return world.post(ATTEMPTS, who, {"answer": {"q": query}}, headers={"Idempotency-Key": key})


def count(world: World, table: Any) -> int:
    with world.database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def tidy(world: World) -> None:
    world.service.writer.run_now(lambda session: delete_expired_keys(session, at=world.clock()))


def test_one_answer_with_many_keys_is_stored_once_more_at_most(world: World) -> None:
    sent = {f"key-{number}": send(world, f"key-{number}") for number in range(54)}

    assert count(world, IdempotencyKeyRow) == 54
    assert count(world, IdempotentResponseRow) <= 2, "the new attempt, and its repeats"
    for key, first in sent.items():
        again = send(world, key)
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["Idempotent-Replayed"] == "true"


def test_a_response_is_kept_as_long_as_the_newest_key_that_got_it(world: World) -> None:
    send(world, "attempt")
    send(world, "old")
    world.clock.turn(hours=47)
    newest = send(world, "new")
    world.clock.turn(hours=4)

    tidy(world)

    assert count(world, IdempotencyKeyRow) == 1
    assert send(world, "new").content == newest.content
    world.clock.turn(hours=48)
    tidy(world)
    assert (count(world, IdempotencyKeyRow), count(world, IdempotentResponseRow)) == (0, 0)


def test_over_the_cap_new_keys_of_repeats_are_refused_and_known_ones_are_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEYS", 3)
    first = send(world, "key-1")
    world.clock.turn(hours=1)
    send(world, "key-2")
    send(world, "key-3")

    refused = send(world, "key-4")

    assert (refused.status_code, refused.json()["code"]) == (429, "rate.exceeded")
    assert refused.headers["Retry-After"] == str(int(KEY_LIFETIME.total_seconds()) - 3600)
    assert send(world, "key-1").content == first.content
    assert send(world, "new-attempt", "2 k_a").status_code == 201, "the policy limits attempts"
    assert send(world, "key-1", who="bob").status_code == 201, "others have keys of their own"
    without_key = world.post(ATTEMPTS, "ada", {"answer": {"q": "k_a"}})
    assert without_key.status_code == 200


def test_what_staff_create_with_keys_has_the_same_cap(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEYS", 2)
    body = {"csv": "login,name\nbob,Bob Surname-Of-Bob\n"}
    statuses = [
        world.post(
            "/api/v1/courses/one/roster", "irene", body, headers={"Idempotency-Key": f"{number}"}
        ).status_code
        for number in range(3)
    ]

    assert statuses == [201, 201, 429]
    assert count(world, IdempotentResponseRow) == 1
