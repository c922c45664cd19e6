"""Issue 10, item 9: `grader verify` knows free attempts, and believes none without looking."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.exc import IntegrityError

from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.signing import SigningKey
from grader.store.database import Database
from tests.support.audited_store import tampering
from tests.support.mending import NEARLY, ONE, TWO, WEIGHT, slips
from tests.support.world import World, make_service

OTHER = {"q": "k_a"}


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        world.publish(slips(within=0.02))
        yield world


def use_and_repeat(world: World) -> dict[str, str]:
    """The ids of Ada's two attempts, which are all she has, of a free one, and of one of Bob's."""
    made = {
        "first": world.submit("ada", ONE, NEARLY)["id"],
        "second": world.submit("ada", ONE, OTHER)["id"],
        "bobs": world.submit("bob", ONE, NEARLY)["id"],
    }
    world.publish(slips(within=0.03))
    return made | {"free": world.submit("ada", ONE, NEARLY)["id"]}


def find_wrong(world: World, *statements: str, **ids: str) -> dict[str, list[tuple[str, str]]]:
    """What is wrong after some statements, by check."""
    used = {name: each for name, each in ids.items() if f":{name}" in str(statements)}
    with tampering(world.database, *statements, **used) as session:
        result = verify(session, GradingContext(SigningKey.generate()))
    return {
        each.name: [(one.subject, one.text) for one in each.discrepancies]
        for each in result.checks
        if not each.is_fine and each.name != "database"
    }


def test_a_free_attempt_over_the_limit_is_fine(world: World) -> None:
    use_and_repeat(world)

    assert find_wrong(world) == {}


def test_a_free_attempt_is_fine_where_the_limit_was_lowered_with_the_rubric(world: World) -> None:
    world.submit("ada", ONE, NEARLY)
    world.submit("ada", ONE, OTHER)
    world.publish(slips(within=0.03, most=1))
    assert world.submit("ada", ONE, NEARLY)["attempts_left"] == 0

    assert find_wrong(world) == {}


def test_an_attempt_that_is_no_longer_free_is_one_too_many(world: World) -> None:
    ids = use_and_repeat(world)

    found = find_wrong(
        world, "UPDATE attempts SET repeats_attempt_id = NULL WHERE id = :free", **ids
    )

    assert found["attempts"] == [(ids["free"], "With it 3 attempts are used, and 2 are allowed.")]
    ((_, text),) = found["grades"]
    assert "attempts is 2 and should be 3" in text


@pytest.mark.parametrize("repeated", ["second", "bobs", "free", "missing"])
def test_a_free_attempt_must_repeat_an_own_equal_answer(world: World, repeated: str) -> None:
    ids = use_and_repeat(world) | {"missing": "att_0"}

    found = find_wrong(
        world, f"UPDATE attempts SET repeats_attempt_id = :{repeated} WHERE id = :free", **ids
    )

    why = "which is no earlier attempt of the student with the same answer."
    assert set(found) == {"attempts", "judgements"}
    assert found["attempts"] == [
        (ids["free"], f"It is free as a repeat of attempt {ids[repeated]}, {why}")
    ]


def test_an_attempt_by_the_same_rubric_is_not_free(world: World) -> None:
    ids = use_and_repeat(world)

    # The first attempt as if the mended rubric had judged it, too.
    found = find_wrong(
        world,
        "UPDATE judgements SET"
        " rubric_version = (SELECT rubric_version FROM judgements WHERE attempt_id = :free),"
        " receipt = (SELECT receipt FROM judgements WHERE attempt_id = :free)"
        " WHERE attempt_id = :first",
        **ids,
    )

    why = "which was judged by the same rubric."
    assert found["attempts"] == [
        (ids["free"], f"It is free as a repeat of attempt {ids['first']}, {why}")
    ]


def test_of_equal_answers_the_last_must_be_repeated(world: World) -> None:
    ids = use_and_repeat(world)
    world.publish(slips(within=0.04))
    ids["last"] = world.submit("ada", ONE, NEARLY)["id"]
    assert find_wrong(world) == {}

    found = find_wrong(
        world,
        "UPDATE attempts SET repeats_attempt_id = :second WHERE id = :free",
        "UPDATE attempts SET repeats_attempt_id = :first WHERE id = :last",
        **ids,
    )

    assert (
        ids["last"],
        f"It is free as a repeat of attempt {ids['first']}, but {ids['free']} is the last one "
        "with the same answer.",
    ) in found["attempts"]


def test_the_database_keeps_an_attempt_from_being_repeated_twice(world: World) -> None:
    ids = use_and_repeat(world)

    with pytest.raises(IntegrityError):
        find_wrong(
            world, "UPDATE attempts SET repeats_attempt_id = :first WHERE id = :second", **ids
        )


def test_a_mended_earlier_rubric_makes_a_free_attempt_right(world: World) -> None:
    world.submit("ada", ONE, NEARLY)
    world.submit("ada", TWO, WEIGHT)
    world.publish(slips(within=0.03))
    assert world.submit("ada", TWO, WEIGHT)["repeats_attempt"] is not None

    assert find_wrong(world) == {}


@pytest.mark.parametrize("damaged", ["first", "free"])
def test_an_attempt_that_cannot_be_read_accuses_no_other(world: World, damaged: str) -> None:
    ids = use_and_repeat(world)

    found = find_wrong(world, f"UPDATE attempts SET answer = '{{' WHERE id = :{damaged}", **ids)

    assert found["attempts"] == [(ids[damaged], "This attempt cannot be read.")]


@pytest.mark.parametrize("damaged", ["first", "free"])
def test_a_receipt_that_cannot_be_read_is_left_to_its_own_check(world: World, damaged: str) -> None:
    ids = use_and_repeat(world)

    found = find_wrong(
        world, f"UPDATE judgements SET receipt = '{{}}' WHERE attempt_id = :{damaged}", **ids
    )

    assert set(found) == {"judgements"}
    ((_, text),) = found["judgements"]
    assert text == "Its receipt cannot be read."
