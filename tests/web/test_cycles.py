"""Requests leave nothing to the garbage collector, which stops everything while it looks.

What a request leaves in a cycle of references stays in memory, with its body, until fifteen
thousand objects have come together.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from grader.store.database import Database
from tests.support.world import EXPLORATION, World, make_service, question_path, serve_world

PUBLISHED = {"one": (EXPLORATION,), "two": (EXPLORATION,)}
QUESTION = question_path(f"{EXPLORATION}/3b")
LARGE = {"answer": {"q": [1] * 100_000}}
ANSWERS = ({"answer": {"q": f"{number} k_a"}} for number in count(2))
REQUESTS = 20


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published=PUBLISHED) as world, serve_world(world) as served:
        yield served


def post(world: World, call: str, sent: Any, token: str | None = None) -> int:
    headers = {"Authorization": f"Bearer {token or world.tokens['ada']}"}
    return world.client.post(f"{QUESTION}/{call}", json=sent, headers=headers).status_code


def get(world: World, path: str, token: str | None = None) -> int:
    headers = {"Authorization": f"Bearer {token or world.tokens['ada']}"}
    return world.client.get(path, headers=headers).status_code


CALLS = [
    pytest.param(lambda w: post(w, "attempts", next(ANSWERS)), {201, 409}, id="submit"),
    pytest.param(lambda w: post(w, "attempts", {"answer": 1}, "keyset_x"), {401}, id="stranger"),
    pytest.param(lambda w: post(w, "attempts", LARGE), {422}, id="submit something large"),
    pytest.param(lambda w: post(w, "check", {"answer": {"q": "k_a"}}), {200}, id="check"),
    pytest.param(lambda w: post(w, "check", {"answer": {"q": "k_a +"}}), {422}, id="nonsense"),
    pytest.param(lambda w: post(w, "check", LARGE), {422}, id="check something large"),
    pytest.param(lambda w: post(w, "check", [1]), {422}, id="no object"),
    pytest.param(lambda w: get(w, QUESTION), {200}, id="question"),
    pytest.param(lambda w: get(w, QUESTION, "keyset_x"), {401}, id="question, stranger"),
    pytest.param(lambda w: get(w, QUESTION + "x"), {404}, id="no question"),
    pytest.param(lambda w: get(w, "/nowhere"), {404}, id="no page"),
    pytest.param(lambda w: get(w, "/sign-in"), {200}, id="page"),
]


@pytest.mark.parametrize(("call", "statuses"), CALLS)
def test_a_request_leaves_no_cycle(
    world: World, call: Callable[[World], int], statuses: set[int]
) -> None:
    for _ in range(3):
        call(world)
    # Now and then something else leaves much, such as a module that is imported meanwhile.
    found = min(count_left(world, call, statuses) for _ in range(3))

    assert found < 5 * REQUESTS, f"{found} objects of {REQUESTS} requests"


def count_left(world: World, call: Callable[[World], int], statuses: set[int]) -> int:
    """How many objects only the garbage collector finds after some requests."""
    gc.collect()
    gc.disable()
    try:
        assert {call(world) for _ in range(REQUESTS)} <= statuses
        return gc.collect()
    finally:
        gc.enable()
