"""Checks in the background: how they end, and what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grader.accounts.callers import Caller, get_membership
from grader.domain.roles import ALL_SCOPES
from grader.grading.integrity.cases import load_rubric_attempts
from grader.grading.integrity.check import CheckRun, start_check
from grader.store.database import Database, Session
from grader.store.queries.integrity import (
    IntegrityCheckLine,
    find_check,
    finish_check,
    list_resemblances,
    record_failure,
    record_progress,
)
from tests.support.world import EXPLORATION, World, make_service, question_path


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def begin(world: World) -> IntegrityCheckLine:
    person = world.people["irene"]
    with world.database.write() as session:
        membership = get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id="one")
        check = start_check(
            session, world.service.context, membership, assignment=EXPLORATION, at=world.clock()
        )
    assert check is not None
    return check


def run(world: World, check: IntegrityCheckLine, should_end: bool = False) -> IntegrityCheckLine:
    service = world.service
    CheckRun(
        service.database, service.writer.run_now, service.context, service.clock,
        lambda: should_end, check,
    ).run()  # fmt: skip
    with world.database.read() as session:
        found = find_check(session, run_id="one", assignment=EXPLORATION)
    assert found is not None
    return found


def query_for(world: World, who: str) -> list[float]:
    given = world.read(question_path(f"{EXPLORATION}/3b"), who)["given"]
    rows, a, b = given["k"], given["a"], given["b"]
    return [40 * (x + y) for x, y in zip(rows[a], rows[b], strict=True)]


def test_a_check_that_is_asked_to_end_says_so(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})

    ended = run(world, begin(world), should_end=True)

    assert (ended.state, ended.error) == (
        "failed",
        "The service stopped before the check was done.",
    )


def test_a_check_that_was_given_up_leaves_nothing(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3b", {"q": query_for(world, "bob")})
    check = begin(world)
    with world.database.write() as session:
        record_failure(session, check_id=check.id, error="Given up.", at=world.clock())

    ended = run(world, check)

    assert (ended.state, ended.error) == ("failed", "Given up.")
    with world.database.read() as session:
        assert list_resemblances(session, check_id=check.id) == []


def test_a_check_that_has_ended_does_not_change_any_more(world: World) -> None:
    check = begin(world)
    at = world.clock()

    def change(session: Session) -> list[bool]:
        facts: dict[str, Any] = {"check_id": check.id, "done": 1, "pairs": 5, "at": at}
        return [
            record_progress(session, of=2, **facts),
            finish_check(session, by_accident=0, **facts),
            record_progress(session, of=2, **facts),
            record_failure(session, check_id=check.id, error="Late.", at=at),
        ]

    with world.database.write() as session:
        assert change(session) == [True, True, False, False]


def test_two_instructors_start_one_check(world: World) -> None:
    first = begin(world)
    person = world.people["olga"]
    with world.database.write() as session:
        membership = get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id="one")
        second = start_check(
            session, world.service.context, membership, assignment=EXPLORATION, at=world.clock()
        )

    assert second is None
    assert run(world, first).state == "finished"


def test_parts_that_build_on_others_are_left_out(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "60 (mu_a + mu_b)"})
    fields = world.read(question_path(f"{EXPLORATION}/3c-ii"), "ada")["fields"]
    numbers = {each["name"]: 0.4 for each in fields if each["name"] != "explanation"}
    world.submit("ada", f"{EXPLORATION}/3c-ii", numbers)

    with world.database.read() as session:
        cases = load_rubric_attempts(
            session, world.service.context, run_id="one", assignment=EXPLORATION, question="3c-ii"
        )

    assert [(len(each.attempts), each.suspects, each.variants) for each in cases] == [(1, [], {})]
