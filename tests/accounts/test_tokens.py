"""Tokens: how many a person and a course run may have."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime

import pytest

from grader.accounts import tokens
from grader.accounts.tokens import NewToken, make_personal_token
from grader.domain.roles import Scope
from grader.errors import KeysetError
from grader.store.database import Database, Session
from grader.store.queries.credentials import count_tokens_in_force
from tests.support.world import World, make_service
from tests.support.writers import start_writers

WANTED = {"label": "made", "scopes": ["course:read"], "days": 1}


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


@pytest.mark.parametrize(
    ("path", "who"),
    [
        pytest.param("/api/v1/tokens", "ada", id="a person"),
        pytest.param("/api/v1/courses/one/tokens", "irene", id="a course run"),
    ],
)
def test_there_is_a_cap_on_tokens_in_force(
    world: World, path: str, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 3)
    # Everybody in this world has a token of their own.
    room = 3 - (1 if who == "ada" else 0)
    made = [world.post(path, who, WANTED) for _ in range(room)]
    assert [each.status_code for each in made] == [201] * room

    refused = world.post(path, who, WANTED)

    assert (refused.status_code, refused.json()["code"]) == (409, "tokens.too_many")
    assert "Revoke those" in refused.json()["detail"]
    assert world.call("DELETE", f"{path}/{made[0].json()['id']}", who).status_code == 204
    assert world.post(path, who, WANTED).status_code == 201, "one was revoked"
    world.clock.turn(days=2)
    assert world.post(path, who, WANTED).status_code == 201, "the others have expired"


def test_two_requests_at_once_do_not_both_get_the_last_token(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    both = threading.Barrier(2)

    def count(session: Session, *, person_id: str | None, run_id: str | None, at: datetime) -> int:
        found = count_tokens_in_force(session, person_id=person_id, run_id=run_id, at=at)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return found

    monkeypatch.setattr(tokens, "count_tokens_in_force", count)

    def make(number: int) -> str:
        def add(session: Session) -> NewToken:
            return make_personal_token(
                session, world.people["ada"], label="made", scopes=[Scope.READ], days=1,
                at=world.clock(), by="test",
            )  # fmt: skip

        try:
            writers[number].run_now(add)
        except KeysetError as error:
            return error.code
        return "made"

    with start_writers(world, 2) as writers, ThreadPoolExecutor(2) as pool:
        assert Counter(pool.map(make, range(2))) == {"made": 1, "tokens.too_many": 1}
